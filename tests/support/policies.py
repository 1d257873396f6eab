"""The chart's policies, rendered as far as a test needs it, and as an API server has them."""

import copy
import re
from pathlib import Path
from typing import Any

import yaml

from support.api_server import CONFIG_MAPS, DEFINITIONS, ApiServer

FOLDER = Path(__file__).parents[2] / "charts" / "kwicket" / "templates" / "policies"
CRDS = Path(__file__).parents[2] / "crds"
_ACTION = re.compile(r"{{-?.*?-?}}", re.DOTALL)


def texts() -> dict[str, str]:
    """The policies without what Helm would fill in, which none of their rules depends on here."""
    files = {path.name: path.read_text() for path in sorted(FOLDER.glob("*.yaml"))}
    return {
        name: "\n".join(
            _ACTION.sub("x", line)
            for line in text.splitlines()
            if not line.strip().startswith("{{")
        )
        for name, text in files.items()
    }


def bodies() -> list[dict[str, Any]]:
    """The policies and bindings, each as one object."""
    loaded = (body for text in texts().values() for body in yaml.safe_load_all(text))
    return [body for body in loaded if body]


def stored(body: dict[str, Any]) -> dict[str, Any]:
    """The object as an API server returns it, with the fields that it fills in."""
    body = copy.deepcopy(body)
    spec = body["spec"]
    match = spec.get("matchConstraints")
    if match is not None:
        spec.setdefault("failurePolicy", "Fail")
        match.setdefault("matchPolicy", "Equivalent")
        match.setdefault("namespaceSelector", {})
        match.setdefault("objectSelector", {})
        for rule in match["resourceRules"]:
            rule.setdefault("scope", "*")
    return body


def definitions() -> list[dict[str, Any]]:
    """The definitions of Kwicket's kinds."""
    return [yaml.safe_load(path.read_text()) for path in sorted(CRDS.glob("*.yaml"))]


def install(api: ApiServer, namespace: str = "kwicket-system") -> None:
    """What `helm install` leaves: the definitions, the policies, and what these should be."""
    for definition in definitions():
        api.put(DEFINITIONS, definition)
    metadata = {"name": "kwicket-policies", "namespace": namespace}
    api.put(CONFIG_MAPS, {"metadata": metadata, "data": texts()})
    for body in bodies():
        api.put(path_of(body), stored(body))


def path_of(body: dict[str, Any]) -> str:
    """The collection of an object's kind."""
    kind = body["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return f"/apis/{body['apiVersion']}/{plural}"
