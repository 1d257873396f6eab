"""What befalls the API server and etcd, on a plane of their own: restarts, and a restore.

Rows 8 and 21 of the fault matrix, on the real programs.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from e2e import load, operators, release
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane import Plane
from e2e.plane.api import Api, Object
from e2e.plane.components import CLIENTS, SERVER, STORE
from e2e.tools import Tool
from e2e.walks.conftest import Pools
from e2e.walks.test_telling import condition, create, note, of_type

LIMIT = 4
JOBS = 60
TOKEN = "kwicket.dev/token"  # noqa: S105  # an annotation's name


@pytest.fixture(scope="module")
def own(own_planes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """A plane whose servers may be stopped."""
    plane = Plane.up(tmp_path_factory.mktemp("own"))
    yield plane
    plane.down()


@pytest.fixture(scope="module")
def account(own: Plane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kubeconfig of the operator, with the chart installed."""
    helm = Tool(own.bin("helm"), own.kubeconfig, tmp_path_factory.mktemp("helm"))
    release.install(helm, own.kubeconfig)
    return own.kubeconfig("kwicket-system/kwicket")


@pytest.fixture
async def api(own: Plane) -> AsyncIterator[Api]:
    """A client as its admin."""
    async with Api.open(own.kubeconfig("admin")) as client:
        yield client


def token_of(job: Object | None) -> int:
    """The token that a Job carries; 0 if none."""
    annotations = ((job or {}).get("metadata") or {}).get("annotations") or {}
    return int(annotations.get(TOKEN, 0))


def has_completed(jobs: int) -> Callable[[Observer], bool]:
    """Whether so many Jobs are Complete."""
    return lambda observer: len(observer.complete) >= jobs


def restart(plane: Plane) -> None:
    """Stops the API server and starts it again."""
    with plane.without(SERVER):
        pass


@pytest.mark.timeout(300)
async def test_the_api_server_restarts_twice_while_jobs_run(
    own: Plane, operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    """Row 8: each Job runs once, and no limit is exceeded."""
    pool = await pools.pool(limit=LIMIT)
    jobs = (
        load.labelled_job(f"job-{n}", f"tenant-{n % 3}", ["sleep", "0.5"], pool=pool)
        for n in range(JOBS)
    )
    await load.create_jobs(api, namespace, jobs)
    for done in (JOBS // 4, JOBS // 2):
        await observer.until(has_completed(done), seconds=90)
        await asyncio.to_thread(restart, own)
    await observer.until(lambda o: len(o.complete) == JOBS, seconds=120)
    await pools.until(pool, waiting=0, running=0)
    assert observer.peak_live <= LIMIT
    assert sorted(len(pods) for pods in observer.pods.values()) == [1] * JOBS
    assert len({token for tokens in observer.tokens.values() for token in tokens}) == JOBS


@pytest.mark.timeout(300)
async def test_etcd_is_restored_from_an_older_backup(
    own: Plane, account: Path, tmp_path: Path, pools: Pools, api: Api, namespace: str
) -> None:
    """Row 21: nothing is granted until an administrator's word, and then above all tokens."""
    path, backup = load.jobs_path(namespace), tmp_path / "backup"
    pool = await pools.pool(limit=1)
    with operators.running(account, tmp_path / "operator.log"):
        await create(api, namespace, "first", pool=pool)
        await api.until(f"{path}/first", lambda job: token_of(job) > 0)
        await pools.until(pool, running=0, waiting=0)
        with own.without(STORE, SERVER) as data:
            shutil.copytree(data, backup)
        await create(api, namespace, "second", pool=pool)
        second = token_of(await api.until(f"{path}/second", lambda job: token_of(job) > 0))
        with own.without(STORE, SERVER, *CLIENTS) as data:
            shutil.rmtree(data)
            shutil.copytree(backup, data)

        ready = await condition(api, "pools", pool, "WentBack")
        above = ready["message"].rpartition("kwicket.dev/go-on-above=")[2]
        await create(api, namespace, "third", pool=pool)
        assert ready["message"] in await note(api, namespace, "third", "Queued")
        assert token_of(await api.get(f"{path}/third")) == 0

        word = {"metadata": {"annotations": {"kwicket.dev/go-on-above": above}}}
        await api.patch(f"{load.GROUP}/pools/{pool}", word)
        third = token_of(await api.until(f"{path}/third", lambda job: token_of(job) > 0))
        assert third > int(above) > second
        shown = await condition(api, "pools", pool, "Serving")
        assert of_type({"status": {"conditions": [shown]}}, "Ready")["status"] == "True"
