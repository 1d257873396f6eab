"""kill -9 between any two durable steps of a grant or a release. Row 1 of the fault matrix.

A failpoint of the operator's own kills it; another one goes on from what is in the cluster.
"""

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from e2e import load, operators
from e2e.objects import token_of
from e2e.observer import Observer
from e2e.operators import ALONE, Operator
from e2e.plane import Plane
from e2e.plane.api import Api
from e2e.recoveries import Recovered
from e2e.walks.conftest import Pools
from e2e.walks.test_election import LEASE_SECONDS, LEASES
from e2e.walks.test_endings import is_suspended
from e2e.walks.test_leases import SHORT, create, job, prefer, replacement, runs
from kwicket.failpoints import VARIABLE, Failpoint

JOBS = 6
LIMIT = 2

type Doomed = Callable[..., Operator]


class Left(NamedTuple):
    """What a kill has left in the cluster: tokens by Job."""

    intents: dict[str, int]
    """Grants in the Ledger."""
    tokens: dict[str, int]
    """Grants on Jobs."""


LEAVES = {
    Failpoint.BEFORE_OPENING: (False, False),
    Failpoint.AFTER_OPENING: (False, False),
    Failpoint.BEFORE_COMMIT: (False, False),
    Failpoint.AFTER_COMMIT: (True, False),
    Failpoint.AFTER_START: (True, True),
    Failpoint.AFTER_EVENT: (None, True),
    Failpoint.BEFORE_ACKNOWLEDGEMENT: (True, True),
    Failpoint.AFTER_ACKNOWLEDGEMENT: (False, True),
    Failpoint.AFTER_STATUS: (None, None),
}
"""Whether the Ledger, and whether a Job, has a grant after a kill there; None: by chance."""


@pytest.fixture
def doomed(account: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Doomed]:
    """Starts an operator that ends at a point."""
    started = []

    def start(point: Failpoint, *options: str) -> Operator:
        with monkeypatch.context() as context:
            context.setenv(VARIABLE, point)
            started.append(Operator(account, tmp_path / "doomed.log", *options))
        return started[-1]

    yield start
    for operator in started:
        operator.kill()


async def was_killed(operator: Operator) -> None:
    """Waits for it."""
    assert await operator.ended() == -signal.SIGKILL


async def what_is_left(api: Api, namespace: str, pool: str) -> Left:
    """In the Ledger, which there may not be, and on the Jobs."""
    named = {"fieldSelector": f"metadata.name={pool}"}
    ledgers, _ = await api.list(f"{load.GROUP}/ledgers", **named)
    intents = [intent for one in ledgers for intent in one["spec"].get("intents", [])]
    jobs, _ = await api.list(load.jobs_path(namespace))
    return Left(
        {intent["job"].partition("/")[2]: int(intent["token"]) for intent in intents},
        {job["metadata"]["name"]: token_of(job) for job in jobs if token_of(job)},
    )


async def submit(api: Api, namespace: str, pool: str, seconds: str = "0.3") -> None:
    """Some Jobs of three tenants."""
    jobs = (
        load.labelled_job(f"job-{n}", f"tenant-{n % 3}", ["sleep", seconds], pool=pool)
        for n in range(JOBS)
    )
    await load.create_jobs(api, namespace, jobs)


async def goes_on(observer: Observer, begin: float) -> float:
    """Seconds from then until the next Job was seen started."""
    before = set(observer.started)
    await observer.until(lambda o: bool(o.started.keys() - before))
    return min(observer.started[job] for job in observer.started.keys() - before) - begin


async def all_once(
    observer: Observer, left: Left, pools: Pools, pool: str, jobs: int = JOBS
) -> None:
    """Each Job completes by the token that it was promised, once, within the limit."""
    await observer.until(lambda o: len(o.complete) == jobs)
    await pools.until(pool, waiting=0, running=0)
    assert observer.peak_live <= LIMIT
    assert sorted(len(pods) for pods in observer.pods.values()) == [1] * jobs
    assert sorted(len(tokens) for tokens in observer.tokens.values()) == [1] * jobs
    for name, token in (left.intents | left.tokens).items():
        assert observer.tokens[name] == [token]
    assert len({tokens[0] for tokens in observer.tokens.values()}) == jobs


@pytest.mark.parametrize("point", LEAVES)
async def test_an_operator_that_is_killed_between_two_steps_is_followed_by_one_that_goes_on(
    point: Failpoint,
    doomed: Doomed,
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    pool = await pools.pool(limit=LIMIT)
    # Only while nothing else is to be decided for a second, starts are acknowledged by themselves;
    # and a status comes within a second, in which all short Jobs may be over.
    slow = point.endswith(("acknowledgement", "status"))
    await submit(api, namespace, pool, "2" if slow else "0.3")
    await was_killed(doomed(point, *ALONE))
    left = await what_is_left(api, namespace, pool)
    for found, wanted in zip(left, LEAVES[point], strict=True):
        assert wanted in (None, bool(found))
    begin = time.monotonic()
    with operators.running(account, tmp_path / "operator.log", *ALONE):
        recovered("1", f"kill -9 {point}; a restart", await goes_on(observer, begin))
        await all_once(observer, left, pools, pool)


async def test_a_kill_between_the_two_writes_of_a_second_start_loses_nothing(
    doomed: Doomed,
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """A Job that ran before, was suspended by its author, and came back in line.

    Up to Kubernetes 1.35 its status keeps a startTime then, which must go before the start.
    """
    pool = await pools.pool(limit=1)
    await load.create_jobs(
        api, namespace, [load.labelled_job("job-0", "alice", ["sleep", "5"], pool=pool)]
    )
    operator = doomed(Failpoint.AFTER_REOPEN, *ALONE)
    await observer.until(lambda o: o.peak_running == 1)
    first = f"{load.jobs_path(namespace)}/job-0"
    await api.patch(first, {"spec": {"suspend": True}})
    await api.until(first, is_suspended)
    await api.patch(f"{first}/status", {"status": {"startTime": "2026-11-30T00:00:00Z"}})
    await was_killed(operator)
    left = await what_is_left(api, namespace, pool)
    [before] = observer.tokens["job-0"]
    assert left.tokens == {"job-0": before}
    begin = time.monotonic()
    with operators.running(account, tmp_path / "operator.log", *ALONE):
        await observer.until(lambda o: len(o.tokens["job-0"]) == 2)
        took = time.monotonic() - begin
        recovered("1", f"kill -9 {Failpoint.AFTER_REOPEN}; a restart", took)
        assert observer.tokens["job-0"] == [before, left.intents["job-0"]]
        assert left.intents["job-0"] > before
        await observer.until(lambda o: "job-0" in o.complete)
    assert observer.peak_live == 1


async def test_a_kill_after_a_lapsed_lease_was_taken_back_frees_its_slot(
    doomed: Doomed,
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Nothing can run the first Job; it is suspended, and the operator dies right then."""
    pool = await pools.pool(limit=1, lease={"duration": "10s", "startWithin": "10s"})
    first = load.labelled_job("first", "alice", ["true"], pool=pool)
    first["spec"]["template"]["spec"]["nodeSelector"] = {"example.com/no": "such-node"}
    await api.create(load.jobs_path(namespace), first)
    operator = doomed(Failpoint.AFTER_SUSPENSION, *ALONE)
    await observer.until(lambda o: "first" in o.started)
    second = load.labelled_job("second", "bob", ["true"], pool=pool)
    await api.create(load.jobs_path(namespace), second)
    await was_killed(operator)
    assert (await api.get(f"{load.jobs_path(namespace)}/first"))["spec"]["suspend"]
    assert "second" not in observer.started
    begin = time.monotonic()
    with operators.running(account, tmp_path / "operator.log", *ALONE):
        took = await goes_on(observer, begin)
        recovered("1", f"kill -9 {Failpoint.AFTER_SUSPENSION}; a restart", took)
        await observer.until(lambda o: "second" in o.complete and len(o.tokens["first"]) == 2)
    assert observer.peak_live == 1
    assert observer.tokens["first"] == sorted(observer.tokens["first"])


LEDGER = {Failpoint.BEFORE_OPENING: False, Failpoint.AFTER_OPENING: True}
"""Whether there is a Ledger after a kill there."""


@pytest.mark.parametrize("point", LEDGER)
async def test_a_kill_while_a_lost_ledger_is_opened_anew_repeats_no_token(
    point: Failpoint,
    doomed: Doomed,
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """A Job runs by a token of the lost one, and holds its slot."""
    pool, log = await pools.pool(limit=LIMIT), tmp_path / "operator.log"
    with operators.running(account, log, *ALONE):
        first = load.labelled_job("first", "alice", ["sleep", "15"], pool=pool)
        await api.create(load.jobs_path(namespace), first)
        await observer.until(lambda o: "first" in o.started)
    await api.delete(f"{load.GROUP}/ledgers/{pool}")
    await submit(api, namespace, pool)
    await was_killed(doomed(point, *ALONE))
    left = await what_is_left(api, namespace, pool)
    assert left == Left({}, {"first": observer.tokens["first"][0]})
    ledgers, _ = await api.list(f"{load.GROUP}/ledgers", fieldSelector=f"metadata.name={pool}")
    assert bool(ledgers) == LEDGER[point]
    begin = time.monotonic()
    with operators.running(account, log, *ALONE):
        took = await goes_on(observer, begin)
        recovered("1", f"kill -9 {point}, where the Ledger was lost; a restart", took)
        await all_once(observer, left, pools, pool, JOBS + 1)
    assert observer.order()[0] == "first"


REPLACES = {
    Failpoint.BEFORE_REPLACEMENT: "TerminatingOrFailed",
    Failpoint.AFTER_REPLACEMENT: "Failed",
}
"""When pods of a Job are replaced after a kill there."""


@pytest.mark.timeout(180)
@pytest.mark.parametrize("point", REPLACES)
async def test_a_kill_while_pods_are_to_be_replaced_late_again_leaves_none_that_is_not(
    point: Failpoint,
    doomed: Doomed,
    account: Path,
    tmp_path: Path,
    plane: Plane,
    node: str,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """A Job was put back and started beside its pod on a silent node, which is back."""
    pool = await pools.pool(limit=LIMIT, lease=SHORT)
    made = job(pool, "first", "sleep", "30", affinity=prefer(node))
    first = await create(api, namespace, made)
    operator = doomed(point, *ALONE)
    await api.until_all(f"/api/v1/namespaces/{namespace}/pods", runs)
    plane.node(node, "silence")
    await observer.until(lambda o: len(o.pods.get("first", ())) == 2)
    plane.node(node, "return")
    await was_killed(operator)
    assert replacement(await api.get(first)) == REPLACES[point]
    await create(api, namespace, job(pool, "second"))
    begin = time.monotonic()
    with operators.running(account, tmp_path / "operator.log", *ALONE):
        took = await goes_on(observer, begin)
        recovered("1", f"kill -9 {point}; a restart", took)
        await api.until(first, lambda found: replacement(found) == "Failed")
        await observer.until(lambda o: o.complete.keys() == {"first", "second"})
    assert len(observer.pods["first"]) == len(observer.tokens["first"]) == 2


async def has_led(api: Api) -> Callable[[Any], bool]:
    """Whether the Lease has another holder than now."""
    leases, _ = await api.list(LEASES)
    before = [lease["spec"].get("holderIdentity") for lease in leases]
    return lambda lease: bool(lease) and lease["spec"].get("holderIdentity") not in (None, *before)


@pytest.mark.timeout(240)
async def test_a_replica_takes_over_from_a_leader_that_is_killed_after_a_commit(
    doomed: Doomed,
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    pool, log = await pools.pool(limit=LIMIT), tmp_path / "operator.log"
    another = await has_led(api)
    leader = doomed(Failpoint.AFTER_COMMIT)
    await api.until(f"{LEASES}/kwicket", another)
    with operators.running(account, log):
        async with asyncio.timeout(30):
            while "synced" not in log.read_text():  # noqa: ASYNC110 - files tell nobody
                await asyncio.sleep(0.05)
        await submit(api, namespace, pool)
        await was_killed(leader)
        begin = time.monotonic()
        left = await what_is_left(api, namespace, pool)
        took = await goes_on(observer, begin)
        recovered("1", f"kill -9 {Failpoint.AFTER_COMMIT}; the other replica", took)
        assert took < LEASE_SECONDS + 5
        await all_once(observer, left, pools, pool)
    assert left.intents
    assert not left.tokens


@pytest.mark.timeout(240)
async def test_a_leader_that_is_killed_as_soon_as_it_leads_is_followed(
    doomed: Doomed,
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    pool = await pools.pool(limit=LIMIT)
    await submit(api, namespace, pool)
    await was_killed(doomed(Failpoint.AFTER_LEASE))
    left, begin = await what_is_left(api, namespace, pool), time.monotonic()
    assert left == Left({}, {})
    with operators.running(account, tmp_path / "operator.log"):
        took = await goes_on(observer, begin)
        recovered("1", f"kill -9 {Failpoint.AFTER_LEASE}; another replica", took)
        await all_once(observer, left, pools, pool)
