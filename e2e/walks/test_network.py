"""What befalls the line between an operator and the API server, by a proxy between the two.

Rows 4, 5, 8, 10, 16, 17, 28 and 29 of the fault matrix, as far as no PostgreSQL is needed.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest

from e2e import load, operators
from e2e.observer import Observer
from e2e.operators import ALONE, Operator
from e2e.plane import Plane
from e2e.plane.api import Api
from e2e.proxy import Proxy, Way
from e2e.recoveries import Recovered
from e2e.walks.conftest import Pools
from e2e.walks.test_election import LEASE_SECONDS, LEASES
from e2e.walks.test_failpoints import goes_on, has_led, what_is_left
from e2e.walks.test_servers import has_completed
from e2e.walks.test_telling import create

LIMIT = 4


@pytest.fixture
async def proxy(plane: Plane, account: Path) -> AsyncIterator[Proxy]:
    """Before the plane's API server."""
    async with Proxy.before(account) as made:
        yield made


@pytest.fixture
def by_proxy(proxy: Proxy, account: Path, tmp_path: Path) -> Path:
    """The operator's kubeconfig by way of the proxy."""
    return proxy.kubeconfig(account, tmp_path / "by-proxy.yaml")


async def until(true: Callable[[], bool], seconds: float = 60) -> None:
    """Waits until it is so, of what tells nobody."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def has_passed(proxy: Proxy, least: int) -> bool:
    """Whether so many bytes of answers have passed."""
    return proxy.passed >= least


async def submit(api: Api, namespace: str, pool: str, jobs: int) -> None:
    """Short Jobs of three tenants."""
    made = (
        load.labelled_job(f"job-{n}", f"tenant-{n % 3}", ["sleep", "0.3"], pool=pool)
        for n in range(jobs)
    )
    await load.create_jobs(api, namespace, made)


def granted_only_as_leader(log: Path) -> None:
    """An operator that had to step down granted nothing before it led again."""
    after = log.read_text().partition("leads no more")[2]
    assert '"granted"' not in after.partition('"leads"')[0]


async def all_once(observer: Observer, jobs: int, pools: Pools, pool: str) -> None:
    """All have completed, each by one pod and one token of its own, within the limit."""
    await observer.until(lambda o: len(o.complete) == jobs, seconds=90)
    await pools.until(pool, waiting=0, running=0)
    assert observer.peak_live <= LIMIT
    assert sorted(len(pods) for pods in observer.pods.values()) == [1] * jobs
    tokens = [token for job in observer.tokens.values() for token in job]
    assert len(tokens) == len(set(tokens)) == jobs


@pytest.mark.timeout(180)
async def test_all_connections_are_reset_again_and_again_while_jobs_run(
    proxy: Proxy,
    by_proxy: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Row 8."""
    pool, jobs, took = await pools.pool(limit=LIMIT), 40, []
    with operators.running(by_proxy, tmp_path / "operator.log", *ALONE):
        await submit(api, namespace, pool, jobs)
        for done in range(5, 30, 5):
            await observer.until(has_completed(done))
            proxy.cut()
            took.append(await goes_on(observer, time.monotonic()))
        recovered("8", "all connections are reset, five times: the longest", max(took))
        await all_once(observer, jobs, pools, pool)


@pytest.mark.timeout(240)
async def test_answers_are_lost_though_their_writes_were_applied(
    proxy: Proxy,
    by_proxy: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Row 16: what is unknown is read back, and the same token is sent again."""
    pool, jobs, log, took = await pools.pool(limit=LIMIT), 60, tmp_path / "operator.log", []
    with operators.running(by_proxy, log, *ALONE):
        await submit(api, namespace, pool, jobs)
        for done in range(2, 50, 3):
            await observer.until(has_completed(done), seconds=90)
            proxy.to_lose = 2
            took.append(await goes_on(observer, time.monotonic()))
        recovered("16", "answers of two requests are lost, 16 times: the longest", max(took))
        proxy.to_lose = 0
        await all_once(observer, jobs, pools, pool)
    said = log.read_text()
    assert '"grant unanswered"' in said
    assert "PUT /apis/kwicket.dev/v1alpha1/ledgers/" in said


@pytest.mark.timeout(240)
async def test_the_line_falls_silent_and_nobody_is_told(
    proxy: Proxy,
    by_proxy: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Row 10, and 28: what runs goes on, nothing is granted, and watches are opened anew."""
    pool = await pools.pool(limit=2)
    with operators.running(by_proxy, tmp_path / "operator.log", *ALONE) as operator:
        await create(api, namespace, "first", "sleep", "60", pool=pool)
        await pools.until(pool, running=1)
        while (await what_is_left(api, namespace, pool)).intents:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        proxy.half_open()  # no request is under way, whose failure would tell
        begin = time.monotonic()
        await create(api, namespace, "second", pool=pool)
        await observer.until(lambda o: "second" in o.started, seconds=150)
        took = observer.started["second"] - begin
        recovered("10", "watches fall silent, and no end of them is told", took)
        assert operator.alive
    assert len(observer.tokens["first"]) == len(observer.pods["first"]) == 1


@pytest.mark.timeout(180)
@pytest.mark.parametrize("way", Way)
async def test_one_direction_of_the_leaders_line_is_dead(
    way: Way,
    proxy: Proxy,
    by_proxy: Path,
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Rows 28 and 29: it steps down in time, the other replica leads, and nothing is revoked."""
    pool, logs = await pools.pool(limit=2), [tmp_path / "cut-off.log", tmp_path / "other.log"]
    another = await has_led(api)
    with operators.running(by_proxy, logs[0]) as leader:
        await api.until(f"{LEASES}/kwicket", another)
        await create(api, namespace, "first", "sleep", "30", pool=pool)
        await observer.until(lambda o: "first" in o.started)
        with operators.running(account, logs[1]):
            await until(lambda: "synced" in logs[1].read_text())
            proxy.dead = {way}
            begin = time.monotonic()
            await create(api, namespace, "second", pool=pool)
            await observer.until(lambda o: "second" in o.started)
            took = observer.started["second"] - begin
            recovered("28/29", f"the leader's {way.value} don't arrive; the other replica", took)
            assert took < LEASE_SECONDS + 5
            assert "leads no more" in logs[0].read_text()
            proxy.dead = set()
            await submit(api, namespace, pool, 6)
            await observer.until(lambda o: len(o.complete) >= 7)
        assert leader.alive
    assert sorted(len(pods) for pods in observer.pods.values()) == [1] * 8
    assert sorted(len(tokens) for tokens in observer.tokens.values()) == [1] * 8
    granted_only_as_leader(logs[0])


@pytest.mark.timeout(240)
async def test_every_word_is_two_seconds_late_for_a_while(
    proxy: Proxy,
    by_proxy: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Rows 16 and 17: an answer takes four seconds, on a new connection eight; Jobs go on."""
    pool, jobs, log = await pools.pool(limit=LIMIT), 60, tmp_path / "operator.log"
    with operators.running(by_proxy, log, *ALONE) as operator:
        await submit(api, namespace, pool, jobs)
        await observer.until(has_completed(8))
        proxy.delay, begin, before = 2, time.monotonic(), len(observer.started)
        await observer.until(lambda o: len(o.started) >= before + 3 * LIMIT, seconds=120)
        assert time.monotonic() - begin > 4
        proxy.delay, begin = 0, time.monotonic()
        took = await goes_on(observer, begin)
        recovered("16/17", "requests and answers are 2 s late, each way, for a while", took)
        await all_once(observer, jobs, pools, pool)
        assert operator.alive


@pytest.mark.timeout(240)
async def test_the_leaders_line_is_too_slow_for_its_lease(
    proxy: Proxy,
    by_proxy: Path,
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Rows 4 and 16: it steps down though all that it writes arrives; nothing is done twice."""
    pool, jobs = await pools.pool(limit=LIMIT), 60
    logs = [tmp_path / "slow.log", tmp_path / "other.log"]
    another = await has_led(api)
    with operators.running(by_proxy, logs[0]) as leader:
        await api.until(f"{LEASES}/kwicket", another)
        with operators.running(account, logs[1]):
            await until(lambda: "synced" in logs[1].read_text())
            await submit(api, namespace, pool, jobs)
            await observer.until(has_completed(8))
            proxy.delay, begin = 3, time.monotonic()
            await until(lambda: '"granted"' in logs[1].read_text())
            took = await goes_on(observer, begin)
            recovered("4/16", "the leader's answers are 6 s late; the other replica", took)
            assert "leads no more" in logs[0].read_text()
            proxy.delay = 0
            await all_once(observer, jobs, pools, pool)
        assert leader.alive
    granted_only_as_leader(logs[0])


@pytest.mark.timeout(180)
async def test_a_list_that_is_slow_or_breaks_off_is_not_taken_for_the_whole(
    proxy: Proxy,
    by_proxy: Path,
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Rows 5 and 17: operators die in their first list, or it breaks off, and nothing is granted.

    The one slot is taken by a Job that only a complete list shows for certain.
    """
    pool, log = await pools.pool(limit=1), tmp_path / "operator.log"
    with operators.running(account, log, *ALONE):
        await create(api, namespace, "zz-first", "sleep", "1000", pool=pool)
        await observer.until(lambda o: "zz-first" in o.started)
    log.unlink()
    filler = load.labelled_job("filler", "bob", ["true"], pool=pool)
    filler["metadata"]["annotations"] = {"example.com/filler": secrets.token_urlsafe(30_000)}
    await load.create_jobs(
        api,
        namespace,
        ({**filler, "metadata": filler["metadata"] | {"name": f"a-{n}"}} for n in range(20)),
    )
    proxy.rate = 150_000
    for killed in range(3):
        before = proxy.passed
        with operators.running(by_proxy, log, *ALONE) as operator:
            await until(partial(has_passed, proxy, before + 400_000))
            await interrupted(operator, proxy, killed)
            assert "synced" not in log.read_text()
    proxy.rate, begin = None, time.monotonic()
    with operators.running(by_proxy, log, *ALONE):
        await pools.until(pool, waiting=20, running=1)
        recovered("5/17", "a crash loop in the first list is over", time.monotonic() - begin)
        assert observer.started.keys() == {"zz-first"}
        await api.delete(f"{load.jobs_path(namespace)}/zz-first", {"gracePeriodSeconds": 0})
        await observer.until(lambda o: len(o.complete) >= 1)
    assert observer.peak_live == 1


async def interrupted(operator: Operator, proxy: Proxy, time: int) -> None:
    """Killed, twice; the third one's list breaks off."""
    if time < 2:
        operator.kill()
    else:
        proxy.cut()
