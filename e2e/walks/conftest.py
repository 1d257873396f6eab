"""What a walk is given: the chart, an operator as its own account, a Pool, an observer."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e import load, operators, release, statuses
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane import Plane
from e2e.plane.api import Api, Object
from e2e.release import RELEASE, Kubeconfig
from e2e.tools import Tool


@pytest.fixture(scope="session")
def account(helm: Tool, kubeconfig: Kubeconfig) -> Iterator[Path]:
    """The kubeconfig of kwicket-system/kwicket, with the chart installed."""
    with release.installed(helm, kubeconfig):
        yield kubeconfig("kwicket-system/kwicket")


@pytest.fixture
def operator(account: Path, tmp_path: Path) -> Iterator[Operator]:
    """A running operator."""
    with operators.running(account, tmp_path / "operator.log") as process:
        yield process


@pytest.fixture
def restore(helm: Tool, kubeconfig: Kubeconfig) -> Iterator[Callable[[], None]]:
    """Puts policies and definitions back by the way that conditions name; at the latest when the
    test ends.
    """

    def upgrade() -> None:
        helm("upgrade", *RELEASE, "--set", "operator.replicas=0", "--force-conflicts")

    yield upgrade
    upgrade()
    release.await_force(kubeconfig)


@pytest.fixture
async def observer(api: Api, namespace: str) -> AsyncIterator[Observer]:
    """An observer of the test's namespace."""
    async with Observer.watching(api, namespace) as watching:
        yield watching


def is_ready(node: Object | None) -> bool:
    conditions = (node or {}).get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


@pytest.fixture
async def node(plane: Plane, api: Api, namespace: str) -> AsyncIterator[str]:
    """A node to do things to; it is well again before the test's pods are cleared away."""
    yield "node-1"
    path = "/api/v1/nodes/node-1"
    plane.node("node-1", "return")
    await api.until(path, is_ready)
    await api.patch(path, {"spec": {"taints": None}})


@pytest.fixture
async def pools(api: Api, namespace: str) -> AsyncIterator["Pools"]:
    """The Pools, Lanes and Limits of the test, removed after it."""
    made = Pools(api, namespace)
    yield made
    await made.remove()


class Pools:
    """Declares objects whose names begin with the test's namespace, so that none clash."""

    def __init__(self, api: Api, prefix: str) -> None:
        self.prefix = prefix
        self._api = api
        self._made: list[str] = []

    async def declare(self, plural: str, name: str, spec: Object) -> str:
        """Creates an object; its full name."""
        kind = {"pools": "Pool", "lanes": "Lane", "limits": "Limit"}[plural]
        full = f"{self.prefix}-{name}"
        body = load.declared(kind, full, spec)
        await self._api.create(f"{load.GROUP}/{plural}", body)
        self._made.append(f"{load.GROUP}/{plural}/{full}")
        return full

    async def pool(self, limit: int | None = None, **spec: Any) -> str:
        """A Pool, with a Limit for its concurrent Jobs unless it is None; its name."""
        pool = await self.declare("pools", "main", spec)
        if limit is not None:
            await self.declare("limits", "main", {"pool": pool, "concurrency": {"jobs": limit}})
        return pool

    async def until(self, pool: str, **figures: Any) -> Object:
        """Waits until the Pool's status shows these figures; the Pool."""
        return await statuses.shown(self._api, pool, **figures)

    async def remove(self) -> None:
        """Takes away what was declared, and the Ledgers that came with it."""
        for path in reversed(self._made):
            await self._api.delete(path)
            if "/pools/" in path:
                await self._remove_ledger(path.replace("/pools/", "/ledgers/"))

    def forget(self) -> None:
        """Takes it that all that was declared is gone, with its definitions."""
        self._made.clear()

    async def _remove_ledger(self, path: str) -> None:
        collection, _, name = path.rpartition("/")
        found, _ = await self._api.list(collection, fieldSelector=f"metadata.name={name}")
        if found:
            await self._api.delete(path)


@asynccontextmanager
async def paused(api: Api, pool: str) -> AsyncIterator[None]:
    """The Pool grants nothing for the length of the context."""
    await load.pause(api, pool, True)
    yield
    await load.pause(api, pool, False)
