"""What end-to-end tests are given: a cluster, tools and a client to it, a namespace of their own.

The cluster is a plane made for the session, or the one that `--kubeconfig FILE` (or
KUBECONFIG_UNDER_TEST) names.
"""

import os
import shutil
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from e2e.plane import Plane, PlaneError, build, tenants
from e2e.plane.api import Api
from e2e.plane.given import GivenCluster
from e2e.recoveries import FILE, Recovered, Recovery, keep
from e2e.tools import Tool

pytest.register_assert_rewrite("support.api_contract", "support.contract")

type Cluster = Plane | GivenCluster

SECONDS = 150
"""For a test that says nothing else: whatever a busy machine does with a real cluster."""

LOGS = pytest.StashKey[list[Path]]()
RECOVERIES = pytest.StashKey[list[Recovery]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("end to end")
    group.addoption("--e2e", action="store_true", help="run the end-to-end tests")
    group.addoption(
        "--kubeconfig",
        type=Path,
        default=os.environ.get("KUBECONFIG_UNDER_TEST") or None,
        help="run them on this cluster (needs cluster-admin) instead of a plane",
    )
    group.addoption(
        "--has-image",
        action="store_true",
        help="the nodes of the cluster of --kubeconfig have the chart's image: install it there",
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    """Build what a plane needs before any test's clock runs; exit code 2 where that cannot be."""
    config = session.config
    if not config.getoption("--e2e") or config.getoption("--kubeconfig"):
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            build.build(print)
    except PlaneError as error:
        pytest.exit(str(error), returncode=error.exit_code)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    runs = config.getoption("--e2e")
    skip = pytest.mark.skip(reason="an end-to-end test: run python -m pytest e2e --e2e")
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        if not runs:
            item.add_marker(skip)
        elif item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keep what was measured for `python -m e2e.recoveries`."""
    if noted := session.config.stash.get(RECOVERIES, []):
        keep(FILE, noted)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for logs in terminalreporter.config.stash.get(LOGS, []):
        if logs.exists():
            terminalreporter.write_line(f"the plane's logs are kept in {logs}")


@pytest.fixture(scope="session")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """The cluster under test: a plane of this session's own, or the given one."""
    folder = tmp_path_factory.mktemp("plane")
    kubeconfig: Path | None = request.config.getoption("--kubeconfig")
    if kubeconfig is not None:
        with GivenCluster.opened(Path(kubeconfig).expanduser(), folder) as given:
            yield given
        return
    request.config.stash.setdefault(LOGS, []).append(folder)
    plane = Plane.up(folder, audited="kwicket-system")
    yield plane
    plane.down()
    if not request.session.testsfailed:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def plane(cluster: Cluster) -> Plane:
    """The plane, for tests of what only a plane can do, such as losing a node."""
    if not isinstance(cluster, Plane):
        pytest.skip("this needs a plane, and a cluster was given")
    return cluster


@pytest.fixture(scope="session")
def own_planes(request: pytest.FixtureRequest) -> None:
    """For tests that bring up planes themselves: skipped where a cluster was given."""
    if request.config.getoption("--kubeconfig") is not None:
        pytest.skip("this needs planes of its own, and a cluster was given")


@pytest.fixture(scope="session")
def older(own_planes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A plane that behaves as Kubernetes 1.34, for the session."""
    plane = Plane.up(tmp_path_factory.mktemp("older"), emulate="1.34", audited="kwicket-system")
    yield plane
    plane.down()


@pytest.fixture(scope="session")
def kubeconfig(cluster: Cluster) -> Callable[[str], Path]:
    """The path of a kubeconfig for admin, alice, bob or NAMESPACE/NAME."""

    def of(who: str) -> Path:
        try:
            return cluster.kubeconfig(who)
        except PlaneError as error:
            if isinstance(cluster, Plane):
                raise
            pytest.skip(str(error))

    return of


@pytest.fixture(scope="session")
def kubectl(
    cluster: Cluster,
    kubeconfig: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Tool:
    """`kubectl("get", "pods", who="alice", stdin=..., check=...)`."""
    return Tool(cluster.bin("kubectl"), kubeconfig, tmp_path_factory.mktemp("kubectl"))


@pytest.fixture(scope="session")
def helm(
    cluster: Cluster,
    kubeconfig: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Tool:
    """`helm("install", ...)`, in the way of `kubectl`."""
    return Tool(cluster.bin("helm"), kubeconfig, tmp_path_factory.mktemp("helm"))


@pytest.fixture
def recovered(request: pytest.FixtureRequest) -> Recovered:
    """`recovered(row, what, seconds)` notes how long a fault of the matrix has lasted."""
    noted = request.config.stash.setdefault(RECOVERIES, [])

    def note(row: str, what: str, seconds: float) -> None:
        print(f"row {row}, {what}: {seconds:.1f} s")
        noted.append(Recovery(row, what, round(seconds, 1), request.node.originalname))

    return note


@pytest.fixture
async def api(cluster: Cluster) -> AsyncIterator[Api]:
    """A client as admin; `api.until` and `api.until_all` wait by watching."""
    async with Api.open(cluster.kubeconfig("admin")) as client:
        yield client


@pytest.fixture
async def namespace(api: Api) -> AsyncIterator[str]:
    """A namespace of the test's own; when the test has ended nothing runs in it any more."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    await tenants.admit(api, name)
    # Controllers that have lost the API server look for it again after up to 30 s.
    await api.until(f"/api/v1/namespaces/{name}/serviceaccounts/default", bool, seconds=90)
    yield name
    await api.delete(f"/api/v1/namespaces/{name}")
    await api.delete(f"/apis/batch/v1/namespaces/{name}/jobs")
    pods = f"/api/v1/namespaces/{name}/pods"
    await api.delete(pods, {"gracePeriodSeconds": 1})
    await api.until_all(pods, lambda left: not left)


@pytest.fixture(scope="session")
def people(kubeconfig: Callable[[str], Path]) -> Callable[[str], Path]:
    """Whose kubeconfigs `alice`, `bob` and `admin` act by; tests on another plane have its own."""
    return kubeconfig


@pytest.fixture
async def alice(people: Callable[[str], Path]) -> AsyncIterator[Api]:
    """A tenant, who may edit what is in the namespaces of the tests, and nothing elsewhere."""
    async with Api.open(people("alice")) as client:
        yield client


@pytest.fixture
async def bob(people: Callable[[str], Path]) -> AsyncIterator[Api]:
    """Another tenant, who may do the same, and what a test lets him."""
    async with Api.open(people("bob")) as client:
        yield client


@pytest.fixture
async def admin(people: Callable[[str], Path]) -> AsyncIterator[Api]:
    """Who may do everything."""
    async with Api.open(people("admin")) as client:
        yield client
