"""Clusters that share a pool: a plane each, with the chart installed."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from msgspec import Struct

from e2e import load, operators, release
from e2e.operators import Operator
from e2e.plane import Plane
from e2e.plane.api import Api
from e2e.tools import Tool

NAMESPACE = "shared"

type Installed = tuple[Plane, Path]
"""A plane, and the kubeconfig of the operator's account."""


class Site(Struct):
    """A cluster that shares a pool: its plane, a client to it, and how its operator is started."""

    name: str
    plane: Plane
    api: Api
    account: Path
    url: Path
    log: Path

    def operator(self) -> Operator:
        """A running operator, which works at once."""
        shares = ("--postgres", str(self.url), "--cluster", self.name)
        return Operator(self.account, self.log, *operators.ALONE, *shares)


@contextmanager
def installed(folder: Path) -> Iterator[Installed]:
    """A plane for as long as the context lasts."""
    plane = Plane.up(folder / "plane")
    try:
        release.install(Tool(plane.bin("helm"), plane.kubeconfig, folder), plane.kubeconfig)
        yield plane, plane.kubeconfig("kwicket-system/kwicket")
    finally:
        plane.down()


@contextmanager
def working(sites: Mapping[str, Site]) -> Iterator[dict[str, Operator]]:
    """An operator in each, by the cluster's name; those that are there at the end are ended."""
    made = {name: site.operator() for name, site in sites.items()}
    try:
        yield made
    finally:
        for operator in made.values():
            if operator.alive:
                operator.end()


@asynccontextmanager
async def sharing(sites: Mapping[str, Site], pool: str, jobs: int) -> AsyncIterator[str]:
    """A Pool that all declare, with so many slots."""
    for site in sites.values():
        await load.make_pool(site.api, pool, jobs)
    yield pool
    for site in sites.values():
        for kind in ("limits", "pools"):
            await site.api.delete(f"{load.GROUP}/{kind}/{pool}")


@asynccontextmanager
async def opened(
    planes: Mapping[str, Installed], url: Path, folder: Path
) -> AsyncIterator[dict[str, Site]]:
    """All by their names, each with a namespace in which nothing runs."""
    async with AsyncExitStack() as stack:
        made = {}
        for name, (plane, account) in planes.items():
            api = await stack.enter_async_context(Api.open(plane.kubeconfig("admin")))
            made[name] = Site(name, plane, api, account, url, folder / f"{name}.log")
            await api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            at = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
            await api.until(at, bool, seconds=90)
        yield made
        for site in made.values():
            await site.api.delete(load.jobs_path(NAMESPACE))
            path = f"/api/v1/namespaces/{NAMESPACE}"
            await site.api.delete(path)
            await site.api.until(path, lambda body: body is None, seconds=90)
