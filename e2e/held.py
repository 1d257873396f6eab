"""What has to become of a new Job with a tenant, and how two Jobs are compared."""

import json

import msgspec

from e2e.job_specs import OURS
from e2e.objects import TOKEN
from e2e.plane.api import Object

FROM_ANNOTATION = {
    "name": OURS,
    "valueFrom": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{TOKEN}']"}
    },
}


def held(free: Object) -> Object:
    """What has to become of a new Job that nothing has changed: this and nothing else."""
    made: Object = json.loads(json.dumps(free))
    spec, meta = made["spec"], made["metadata"]
    spec |= {"suspend": True, "podReplacementPolicy": "Failed"}
    tenant = {"kwicket.dev/tenant": meta["labels"]["kwicket.dev/tenant"]}
    template = spec["template"]["metadata"]
    template["labels"] = template.get("labels", {}) | tenant
    pods = spec["template"]["spec"]
    for container in [*pods["containers"], *pods.get("initContainers", ())]:
        rest = [one for one in container.get("env", ()) if one["name"] != OURS]
        container["env"] = [FROM_ANNOTATION, *rest]
    for one in (meta, template):
        notes = one.pop("annotations", {})
        if kept := {k: v for k, v in notes.items() if not k.startswith("kwicket.dev/")}:
            one["annotations"] = kept
    return made


def comparable(made: Object) -> Object:
    """A Job without what differs from one to the next; field managers are compared elsewhere."""
    known = {
        **made,
        "metadata": {k: v for k, v in made["metadata"].items() if k != "managedFields"},
    }
    whole: Object = json.loads(plain(known))
    return whole


def plain(made: Object) -> bytes:
    """The bytes of a Job, but for what no two Jobs have in common."""
    meta = made["metadata"] | {"creationTimestamp": None, "resourceVersion": None}
    if "managedFields" in meta:
        meta["managedFields"] = [one | {"time": None} for one in meta["managedFields"]]
    text = msgspec.json.encode(made | {"metadata": meta}).decode()
    for field in ("uid", "name", "namespace"):
        text = text.replace(f'"{meta[field]}"', f'"{field}"')
    return text.encode()
