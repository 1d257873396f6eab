"""The webhook as a process beside the cluster, as its own service account, and what points to it.

The configurations are those of the chart, but for the address: `url` instead of a Service.
"""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from e2e.plane import Plane
from e2e.plane.api import Object
from e2e.release import CHART
from e2e.tools import Tool

DEFINITIONS = CHART.parents[1] / "crds"
MUTATING = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
RBAC = "rbac.authorization.k8s.io"
NAMESPACE = "kwicket-system"
ACCOUNT = "kwicket-webhook"
TIMEOUT = 5
"""Seconds that the API server waits for a review: more than the chart's 3, for a busy machine."""
START_SECONDS = 20
END_SECONDS = 15

_TENANT = {"matchExpressions": [{"key": "kwicket.dev/tenant", "operator": "Exists"}]}
_EVERYWHERE = {
    "matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}
    ]
}
_SOMETHING_CHANGES = {
    "name": "something-changes",
    "expression": (
        "request.operation == 'CREATE' || object.spec != oldObject.spec"
        " || object.metadata.?annotations.orValue({})"
        " != oldObject.metadata.?annotations.orValue({})"
    ),
}
"""An update that leaves these alone, such as a finalizer's, is none of ours."""

RIGHTS: list[dict[str, list[str]]] = [
    {
        "apiGroups": ["kwicket.dev"],
        "resources": ["pools", "lanes", "limits"],
        "verbs": ["list", "watch"],
    },
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]},
    {
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["subjectaccessreviews"],
        "verbs": ["create"],
    },
]
"""All that the webhook may do."""


class Webhook:
    """One process of `kwicket webhook`; its JSON lines go to `log`. It serves as the plane does."""

    def __init__(self, plane: Plane, log: Path, port: int = 0) -> None:
        self._log = log
        keys = plane.folder / "secrets"
        self.authority = (keys / "ca.crt").read_bytes()
        account = plane.kubeconfig(f"{NAMESPACE}/{ACCOUNT}")
        files = "--certificate", keys / "server.crt", "--key", keys / "server.key"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "kwicket", "webhook", "--kubeconfig", account),
                    *(*files, "--listen", f"127.0.0.1:{port}"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.port = self._listening()

    def _listening(self) -> int:
        """The port, once it listens."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            for line in self._log.read_text().splitlines():
                if '"answers reviews"' in line:
                    port: int = json.loads(line)["port"]
                    return port
            time.sleep(0.02)
        raise AssertionError(f"the webhook does not listen: {self._log.read_text()}")

    def end(self) -> int:
        """SIGTERM; its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(END_SECONDS)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It takes connections and never answers, for the length of the context."""
        os.kill(self._process.pid, signal.SIGSTOP)
        yield
        os.kill(self._process.pid, signal.SIGCONT)


class Switch:
    """A webhook that is up or down, on the same port whenever it is up."""

    def __init__(self, plane: Plane, log: Path) -> None:
        self._plane = plane
        self._log = log
        self._port = 0
        self._webhook: Webhook | None = None

    def up(self) -> Webhook:
        """The webhook, started if it is down."""
        if self._webhook is None:
            self._webhook = Webhook(self._plane, self._log, self._port)
            self._port = self._webhook.port
        return self._webhook

    def down(self) -> None:
        """Ends the webhook if it is up. Raises AssertionError if it does not end well."""
        if self._webhook is not None:
            webhook, self._webhook = self._webhook, None
            assert webhook.end() == 0


def mutating(webhook: Webhook, namespaces: Object | None = None) -> Object:
    """The MutatingWebhookConfiguration."""
    hook = _hook("jobs.kwicket.dev", "/mutate-jobs", webhook, namespaces) | {
        "rules": [_rule("batch", "v1", ["jobs"], ["CREATE", "UPDATE"])],
        "objectSelector": _TENANT,
        "matchConditions": [_SOMETHING_CHANGES],
        "reinvocationPolicy": "IfNeeded",
    }
    return _configuration("MutatingWebhookConfiguration", [hook])


def validating(webhook: Webhook, namespaces: Object | None = None) -> Object:
    """The ValidatingWebhookConfiguration."""
    jobs = _hook("jobs.kwicket.dev", "/validate-jobs", webhook, namespaces) | {
        "rules": [_rule("batch", "v1", ["jobs"], ["CREATE"])],
        "objectSelector": _TENANT,
    }
    kinds = ["pools", "lanes", "limits"]
    objects = _hook("objects.kwicket.dev", "/validate-objects", webhook, None) | {
        "rules": [_rule("kwicket.dev", "v1alpha1", kinds, ["CREATE", "UPDATE"])]
    }
    return _configuration("ValidatingWebhookConfiguration", [jobs, objects])


def prepare(kubectl: Tool) -> None:
    """The definitions, the webhook's service account with its rights, and bob's to start Jobs."""
    kubectl("apply", "-f", str(DEFINITIONS))
    kubectl("wait", "--for=condition=Established", "-f", str(DEFINITIONS), "--timeout=20s")
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
    grants = {"apiGroups": ["kwicket.dev"], "resources": ["grants"], "verbs": ["grant"]}
    jobs = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "patch"]}
    bob = {"kind": "User", "name": "bob", "apiGroup": RBAC}
    meta = {"name": ACCOUNT, "namespace": NAMESPACE}
    apply(
        kubectl,
        [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
            *_role(ACCOUNT, RIGHTS, subject),
            *_role("t-grantors", [grants, jobs], bob),
        ],
    )


def rendered(plane: Plane, folder: Path, *templates: str) -> list[Object]:
    """Templates of the chart, for an API server that has every kind of policy."""
    helm = Tool(plane.bin("helm"), plane.kubeconfig, folder)
    chosen = [word for template in templates for word in ("-s", template)]
    text = helm("template", "kwicket", str(CHART), *chosen, "--api-versions", MUTATING).stdout
    return [document for document in yaml.safe_load_all(text) if document]


def apply(kubectl: Tool, objects: list[Object]) -> None:
    """`kubectl apply` of these objects."""
    document = {"apiVersion": "v1", "kind": "List", "items": objects}
    kubectl("apply", "-f", "-", stdin=json.dumps(document))


def _role(name: str, rules: list[dict[str, list[str]]], subject: Object) -> list[Object]:
    role = {"kind": "ClusterRole", "name": name, "apiGroup": RBAC}
    meta = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": name}}
    return [
        meta | {"kind": "ClusterRole", "rules": rules},
        meta | {"kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]},
    ]


def _hook(name: str, path: str, webhook: Webhook, namespaces: Object | None) -> Object:
    """What all have in common: when it is down, the policies say what is allowed."""
    return {
        "name": name,
        "clientConfig": {
            "url": f"https://127.0.0.1:{webhook.port}{path}",
            "caBundle": base64.b64encode(webhook.authority).decode(),
        },
        "failurePolicy": "Ignore",
        "timeoutSeconds": TIMEOUT,
        "sideEffects": "None",
        "matchPolicy": "Equivalent",
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": namespaces or _EVERYWHERE,
    }


def _rule(group: str, version: str, resources: list[str], operations: list[str]) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": resources,
        "operations": operations,
    }


def _configuration(kind: str, hooks: list[Object]) -> Object:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "kwicket"},
        "webhooks": hooks,
    }
