"""Objects that end-to-end tests create, as small as the API allows."""

from typing import Any

from e2e.plane.api import Object


def pod_spec(script: str, **spec: Any) -> Object:
    """A pod that runs `script` in sh, once; `spec` adds to or overrides its fields."""
    return {"restartPolicy": "Never", "containers": [container(script)]} | spec


def container(script: str, **fields: Any) -> Object:
    """A container that runs `script` in sh."""
    return {"name": "main", "image": "busybox", "command": ["sh", "-c", script]} | fields


def pod(name: str, script: str, **spec: Any) -> Object:
    """A pod by itself."""
    return {"metadata": {"name": name}, "spec": pod_spec(script, **spec)}


def job(name: str, script: str, **spec: Any) -> Object:
    """A Job of one pod that runs `script`, and is not tried again; `spec` as in the Job."""
    template = {"spec": pod_spec(script)}
    return {"metadata": {"name": name}, "spec": {"backoffLimit": 0, "template": template} | spec}
