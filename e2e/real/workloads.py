"""Pods that Pod Security `restricted` admits, of the one image that the nodes have."""

from typing import Any

from e2e.plane.api import Object

LABEL = "pod-security.kubernetes.io/enforce"
UNTIL_TOLD = """
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print(os.environ.get("KWICKET_TOKEN"), flush=True)
while True:
    signal.pause()
"""
"""Prints its token, once it listens, and ends well when it is told to."""
TELL = ("python3", "-c", "import os; os.kill(1, 15)")


def namespace(name: str) -> Object:
    """A namespace where Pod Security enforces `restricted`."""
    metadata = {"name": name, "labels": {LABEL: "restricted"}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def pod_spec(image: str, script: str, **container: Any) -> Object:
    """One container that runs a Python script, as nobody, never pulled."""
    confined = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    main = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "Never",
        "command": ["python3", "-c", script],
        "securityContext": confined,
    }
    seccomp = {"type": "RuntimeDefault"}
    return {
        "restartPolicy": "Never",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": seccomp},
        "containers": [main | container],
    }


def job(name: str, tenant: str, pod: Object, **labels: str) -> Object:
    """A labelled Job of that pod; `labels` are keys under kwicket.dev/."""
    marks = {f"kwicket.dev/{key}": value for key, value in ({"tenant": tenant} | labels).items()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": marks},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    }
