"""The worlds in which each threat is tried, and the people in them."""

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from e2e import homes, load, operators, release
from e2e.conftest import Cluster
from e2e.metrics import Metrics
from e2e.plane import Plane, lifecycle
from e2e.plane.api import Api, ApiError
from e2e.release import Kubeconfig
from e2e.serving import ChartWebhook
from e2e.threats.world import PAUSED, WORLDS, World
from e2e.tools import Tool, tools


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One world after the other, over all files, since it takes a while to make one."""
    places = [place for place, item in enumerate(items) if world_of(item)]
    ordered = sorted((items[place] for place in places), key=lambda i: WORLDS.index(world_of(i)))
    for place, item in zip(places, ordered, strict=True):
        items[place] = item


def world_of(item: pytest.Item) -> str:
    """In which world the test is; empty if in none."""
    called = (
        item.callspec.params
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
        else {}
    )
    return str(called.get("world", ""))


@pytest.fixture(scope="package", params=WORLDS)
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """The session's cluster, or a plane as of 1.34; with the operator stopped, or running, or both
    the operator and the webhook.
    """
    version, _, state = request.param.partition("-")
    folder = tmp_path_factory.mktemp("world")
    kubeconfig: Kubeconfig
    if version == "now":
        kubeconfig, helm, kubectl = (
            request.getfixturevalue(name) for name in ("kubeconfig", "helm", "kubectl")
        )
    else:
        older: Plane = request.getfixturevalue("older")
        kubeconfig = older.kubeconfig
        helm, kubectl = tools(older, folder)
    with ExitStack() as stack:
        log = folder / "operator.log" if state != "stopped" else None
        made = World(kubeconfig, helm, kubectl, f"t-{uuid.uuid4().hex[:8]}", log)
        if state == "webhook":
            request.getfixturevalue("own_planes")
            made.webhook = stack.enter_context(serving(helm, kubectl, kubeconfig, folder))
        else:
            stack.enter_context(release.installed(helm, kubeconfig))
        stack.enter_context(homes.home(kubeconfig, made.home))
        made.by_policy = lifecycle.run(_mutates(kubeconfig("alice")))
        if log is not None:
            lifecycle.run(_make_paused(kubeconfig("admin")))
            stack.callback(lambda: lifecycle.run(_drop_paused(kubeconfig("admin"))))
            account = kubeconfig("kwicket-system/kwicket")
            made.metrics = Metrics()
            stack.enter_context(operators.running(account, log, *made.metrics.options))
        yield made


@contextmanager
def serving(
    helm: Tool, kubectl: Tool, kubeconfig: Kubeconfig, folder: Path
) -> Iterator[ChartWebhook]:
    """The release with its webhook, which answers for the length of the context."""
    name, chart, *place = release.RELEASE
    values = "operator.replicas=0,webhook.replicas=1"
    helm("install", name, chart, *place, "--create-namespace", "--set", values)
    webhook = ChartWebhook(kubeconfig, kubectl, folder)
    try:
        release.await_force(kubeconfig, webhook=True)
        yield webhook
        release.uninstall(helm, kubeconfig)
    finally:
        webhook.end()


async def _mutates(tenant: Path) -> bool:
    async with Api.open(tenant) as api:
        return await release.mutates(api)


async def _make_paused(admin: Path) -> None:
    async with Api.open(admin) as api:
        await load.make_pool(api, PAUSED, default=True, paused=True)


async def _drop_paused(admin: Path) -> None:
    async with Api.open(admin) as api:
        await drop_pool(api, PAUSED)


async def drop_pool(api: Api, name: str) -> None:
    """Takes away what there is of a Pool, its Limit and its Ledger."""
    for plural in ("limits", "pools", "ledgers"):
        try:
            await api.delete(f"{load.GROUP}/{plural}/{name}")
        except ApiError as error:
            if error.reason != "NotFound":
                raise


@pytest.fixture(scope="package")
def people(world: World) -> Kubeconfig:
    """Those of the world."""
    return world.kubeconfig


@pytest.fixture
async def kwicket(world: World) -> AsyncIterator[Api]:
    """The operator's own account, to write a grant by hand."""
    async with Api.open(world.kubeconfig("kwicket-system/kwicket")) as client:
        yield client


@pytest.fixture(scope="package")
def keepers(world: World) -> Iterator[None]:
    """Lets bob write namespaces, the status of Jobs and Ledgers; Kwicket's verbs are not in it."""
    kubectl, name = world.kubectl, f"keepers-{world.home}"
    kinds = "namespaces,namespaces/status,jobs.batch/status,ledgers.kwicket.dev"
    kubectl("create", "clusterrole", name, "--verb=create,patch,delete", f"--resource={kinds}")
    kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", "--user=bob")
    yield
    kubectl("delete", f"clusterrolebinding/{name}", f"clusterrole/{name}")


@pytest.fixture
def keeper(keepers: None, bob: Api) -> Api:
    """bob, who keeps namespaces."""
    return bob


@pytest.fixture
def other(world: World) -> Iterator[str]:
    """A namespace of the test's own; its end is not waited for."""
    with homes.home(world.kubeconfig) as name:
        yield name


@pytest.fixture
async def pool(world: World, admin: Api) -> AsyncIterator[str]:
    """A Pool that grants one Job at a time; for worlds whose operator runs."""
    name = f"p-{uuid.uuid4().hex[:8]}"
    await load.make_pool(admin, name, limit=1)
    yield name
    await drop_pool(admin, name)


@pytest.fixture
def programs(cluster: Cluster) -> Path:
    """The folder of kubectl and helm, for a shell."""
    return cluster.bin("kubectl").parent
