"""Namespaces in which the tenants of the tests may edit; elsewhere they may do nothing."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from e2e.plane import lifecycle, tenants
from e2e.plane.api import Api, Object
from e2e.release import Kubeconfig

NAMESPACES = "/api/v1/namespaces"


@contextmanager
def home(kubeconfig: Kubeconfig, name: str = "") -> Iterator[str]:
    """A namespace for the length of the context; its end is not waited for."""
    name = name or f"t-{uuid.uuid4().hex[:8]}"
    lifecycle.run(make(kubeconfig, {"name": name}))
    yield name
    lifecycle.run(_drop(kubeconfig, name))


@contextmanager
def opened(kubeconfig: Kubeconfig, namespace: str) -> Iterator[None]:
    """Lets the tenants into a namespace that is no home, for the length of the context."""
    lifecycle.run(tenants.bind(kubeconfig("admin"), namespace))
    yield
    lifecycle.run(tenants.unbind(kubeconfig("admin"), namespace))


async def make(kubeconfig: Kubeconfig, metadata: Object) -> None:
    """A namespace with this metadata."""
    async with Api.open(kubeconfig("admin")) as api:
        await api.create(NAMESPACES, {"metadata": metadata})
        await tenants.admit(api, metadata["name"])


async def _drop(kubeconfig: Kubeconfig, name: str) -> None:
    async with Api.open(kubeconfig("admin")) as api:
        await api.delete(f"{NAMESPACES}/{name}")
