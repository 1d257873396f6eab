"""What befalls the API server and etcd, on a plane of their own: restarts, compaction, a restore.

Rows 8, 9 and 21 of the fault matrix, on the real programs.
"""

import asyncio
import base64
import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs

from e2e import load, operators, release
from e2e.objects import token_of
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane import Plane
from e2e.plane.api import Api
from e2e.plane.components import CLIENTS, SERVER, STORE
from e2e.statuses import condition, of_type
from e2e.tools import Tool
from e2e.walks.conftest import Pools
from e2e.walks.test_telling import create, note
from kwicket.app import api_session
from kwicket.core.jobs import JobSeen
from kwicket.kube import reflector as module
from kwicket.kube.access import Access, load_access
from kwicket.kube.client import Answer, Client
from kwicket.kube.cluster import JOBS as JOBS_OF_TENANTS
from kwicket.kube.reflector import Reflector, Sink
from support.news import News

LIMIT = 4
JOBS = 60


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


class Late(Client):
    """Asks for its first second page, and its first watch, as if very long ago."""

    def __init__(self, access: Access, session: aiohttp.ClientSession, old: int) -> None:
        super().__init__(access, session)
        self._old = old
        self._late_page = self._late_watch = True

    async def call(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, **rest: Any
    ) -> Answer:
        asked = dict(params or {})
        if "continue" in asked and self._late_page:
            self._late_page = False
            token = asked["continue"]
            read = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            text = json.dumps(read | {"rv": self._old}).encode()
            asked["continue"] = base64.urlsafe_b64encode(text).decode().rstrip("=")
        return await super().call(method, path, params=asked, **rest)

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        version = {"resourceVersion": str(self._old)} if self._late_watch else {}
        self._late_watch = False
        async with super().stream(path, {**params, **version}) as lines:
            yield lines


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


@pytest.mark.timeout(180)
async def test_versions_that_etcd_has_forgotten_lead_to_another_list(
    own: Plane, account: Path, api: Api, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 9: 410 on a page and on a watch, in the server's own words."""
    monkeypatch.setattr(module, "PAGE", 1)
    for name in ("a", "b"):
        await create(api, namespace, name, hold="true")
    old = await api.get(f"{load.jobs_path(namespace)}/a")
    await asyncio.to_thread(restart, own)
    own.compact()
    news, names = News(), set[str]()

    def hear(name: str) -> None:
        names.add(name)
        news.stir()

    access = await load_access(own.kubeconfig("admin"))
    with capture_logs() as logs:
        async with api_session(access) as session:
            late = Late(access, session, int(old["metadata"]["resourceVersion"]))
            reflector = Reflector(late, JOBS_OF_TENANTS)
            sink = Sink[JobSeen](lambda job: hear(job.name), lambda _: None)
            running = asyncio.create_task(reflector.run(sink))
            await reflector.synced.wait()
            await create(api, namespace, "c", hold="true")
            await news.until(lambda: {"a", "b", "c"} <= names)
            running.cancel()
            await asyncio.wait([running])
    page, watch = [log["error"] for log in logs if log["event"] == "list again"]
    assert page.startswith(f"list {JOBS_OF_TENANTS.path}: The provided continue parameter is too")
    assert "too old resource version" in watch


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
