"""The story: what the demo does on the plane, told as it happens."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from msgspec import Struct

from e2e import load, release
from e2e.observer import Observer
from e2e.plane import Plane, tenants
from e2e.plane.api import Api
from e2e.tools import Tool

NAMESPACE = "demo"
POOL = "demo"
SUBMITTED = tuple(
    (tenant, f"{tenant}-{number}")
    for tenant, jobs in (("alice", 6), ("bob", 2), ("carol", 1))
    for number in range(1, jobs + 1)
)
WORK = ["sleep", "0.7"]


class Bar(Struct):
    """A Job as the observer saw it; seconds since the first start, None for what is not yet."""

    job: str
    tenant: str
    started: float | None = None
    ended: float | None = None


class Story:
    """Runs once on a plane that is up."""

    def __init__(self, plane: Plane, say: Callable[[str], None]) -> None:
        self._plane = plane
        self._say = say
        self.log = plane.folder / "operator.log"

    async def prepare(self) -> Path:
        """Installs the chart, if it is not there; the kubeconfig of the operator's account."""
        folder = self._plane.folder / "tools"
        helm = Tool(self._plane.bin("helm"), self._plane.kubeconfig, folder)
        if not await asyncio.to_thread(release.is_installed, helm):
            self._say("installing the chart: resources, policies, the operator's account")
            await asyncio.to_thread(release.install, helm, self._plane.kubeconfig)
        return await asyncio.to_thread(self._plane.kubeconfig, "kwicket-system/kwicket")

    async def tell(self, show: Callable[[list[Bar]], None]) -> list[Bar]:
        """Submits the Jobs as their tenants and returns all bars in the order of their starts.

        An operator must be running.
        """
        async with Api.open(self._plane.kubeconfig("admin")) as admin:
            await _clear(admin)
            await load.make_pool(admin, POOL, limit=1)
            await admin.until(f"{load.GROUP}/pools/{POOL}", _is_ready)
            async with Observer.watching(admin, NAMESPACE) as observer:
                await self._submit()
                await _follow(observer, show)
                return _bars(observer)

    async def _submit(self) -> None:
        for tenant in ("alice", "bob", "carol"):
            names = [name for of, name in SUBMITTED if of == tenant]
            self._say(f"{tenant} submits {len(names)} Job{'s' * (len(names) > 1)}")
            who = tenant if tenant != "carol" else "admin"
            async with Api.open(self._plane.kubeconfig(who)) as api:
                for name in names:
                    job = load.labelled_job(name, tenant, WORK, pool=POOL)
                    await api.create(load.jobs_path(NAMESPACE), job)


async def _follow(observer: Observer, show: Callable[[list[Bar]], None]) -> None:
    seen = -1
    while len(observer.succeeded) < len(SUBMITTED):
        await observer.until(_has_moved(seen))
        seen = _moves(observer)
        show(_bars(observer))


def _moves(observer: Observer) -> int:
    return len(observer.started) + len(observer.succeeded)


def _has_moved(since: int) -> Callable[[Observer], bool]:
    return lambda observer: _moves(observer) != since


def _bars(observer: Observer) -> list[Bar]:
    first = min(observer.started.values(), default=0.0)

    def since(moments: dict[str, float], job: str) -> float | None:
        return moments[job] - first if job in moments else None

    bars = [
        Bar(job, tenant, since(observer.started, job), since(observer.succeeded, job))
        for tenant, job in SUBMITTED
    ]
    return sorted(bars, key=lambda bar: float("inf") if bar.started is None else bar.started)


def _is_ready(pool: dict[str, object] | None) -> bool:
    status = (pool or {}).get("status")
    conditions = status.get("conditions", []) if isinstance(status, dict) else []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


async def _clear(admin: Api) -> None:
    """Takes away what an earlier demo left, and makes the namespace."""
    namespaces = "/api/v1/namespaces"
    pools, _ = await admin.list(f"{load.GROUP}/pools", fieldSelector=f"metadata.name={POOL}")
    if pools:
        await load.drop_pool(admin, POOL)
    found, version = await admin.list(namespaces, fieldSelector=f"metadata.name={NAMESPACE}")
    if found:
        await admin.delete(f"{namespaces}/{NAMESPACE}")
        selector = {"fieldSelector": f"metadata.name={NAMESPACE}"}
        async with aclosing(admin.watch(namespaces, version, **selector)) as events:
            async for event in events:
                if event.type == "DELETED":
                    break
    await admin.create(namespaces, {"metadata": {"name": NAMESPACE}})
    account = f"{namespaces}/{NAMESPACE}/serviceaccounts/default"
    await admin.until(account, lambda seen: seen is not None)
    await tenants.admit(admin, NAMESPACE)
