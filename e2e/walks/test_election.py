"""Two operators, one leader: how soon the other one starts Jobs, however the first one ends."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from e2e import load, operators
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane.api import Api
from e2e.recoveries import Recovered
from e2e.walks.conftest import Pools

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kwicket-system/leases"
LEASE_SECONDS = 15


class Pair:
    """Two operators; which of them leads is read from the Lease and their logs."""

    def __init__(self, account: Path, folder: Path, stack: ExitStack) -> None:
        self._logs = [folder / f"operator-{number}.log" for number in range(2)]
        self.both = [stack.enter_context(operators.running(account, log)) for log in self._logs]

    async def leader(self, api: Api) -> Operator:
        """The leader, once there is one and both have read all there is."""
        await _until(lambda: all("synced" in self._said(log) for log in self._logs))
        lease = await api.until(f"{LEASES}/kwicket", lambda body: bool(self._of(body)))
        return self.both[self._logs.index(self._of(lease)[0])]

    def _of(self, lease: Any) -> list[Path]:
        """The log of the replica that holds the Lease."""
        holder = lease["spec"].get("holderIdentity") if lease else None
        return [log for log in self._logs if holder and ("leads", holder) in self._led(log)]

    def log_of(self, operator: Operator) -> list[dict[str, Any]]:
        """What it has logged."""
        return self._lines(operator.log)

    def _led(self, log: Path) -> list[tuple[str, str]]:
        return [(line["message"], line.get("replica", "")) for line in self._lines(log)]

    def _said(self, log: Path) -> set[str]:
        return {line["message"] for line in self._lines(log)}

    def _lines(self, log: Path) -> list[dict[str, Any]]:
        whole, _, _ = log.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]


@pytest.fixture
def pair(account: Path, tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(account, tmp_path, stack)


async def _until(true: Any) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - files tell nobody
            await asyncio.sleep(0.05)


async def submit(api: Api, namespace: str, name: str, pool: str) -> None:
    """A Job that ends at once."""
    job = load.labelled_job(name, "alice", ["true"], pool=pool)
    await api.create(load.jobs_path(namespace), job)


async def handed_over(
    api: Api, namespace: str, pool: str, observer: Observer, name: str, since: float
) -> float:
    """Seconds from then until a Job that was submitted after it was seen started."""
    await submit(api, namespace, name, pool)
    await observer.until(lambda o: name in o.started)
    return observer.started[name] - since


@pytest.mark.timeout(120)
async def test_a_leader_that_is_told_to_end_is_followed_within_three_seconds(
    pair: Pair,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    pool = await pools.pool()
    leader = await pair.leader(api)
    begin = time.monotonic()
    assert await asyncio.to_thread(leader.end) == 0
    took = await handed_over(api, namespace, pool, observer, "next", begin)
    recovered("6", "SIGTERM; the other replica", took)
    assert took < 3


@pytest.mark.timeout(120)
async def test_a_leader_that_is_told_to_end_amid_its_grants_leaves_none_half_done(
    pair: Pair,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Row 6 of the fault matrix."""
    pool = await pools.pool(paused=True)
    leader = await pair.leader(api)
    for number in range(60):
        await submit(api, namespace, f"job-{number}", pool)
    await pools.until(pool, waiting=60)
    await load.pause(api, pool, False)
    await observer.until(lambda o: bool(o.started))
    begin = time.monotonic()
    assert await asyncio.to_thread(leader.end) == 0
    ended = time.monotonic()
    await observer.until(lambda o: len(o.complete) == 60)
    later = [at for at in observer.started.values() if at > ended]
    if later:
        recovered("6", "SIGTERM amid grants; the other replica", min(later) - begin)
        assert min(later) - begin < 3
    assert sorted(len(pods) for pods in observer.pods.values()) == [1] * 60
    tokens = [token for job in observer.tokens.values() for token in job]
    assert len(tokens) == len(set(tokens)) == 60


@pytest.mark.timeout(120)
async def test_a_leader_that_is_killed_is_followed_when_its_lease_has_run_out(
    pair: Pair,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    pool = await pools.pool()
    leader = await pair.leader(api)
    leader.kill()
    begin = time.monotonic()
    took = await handed_over(api, namespace, pool, observer, "next", begin)
    recovered("1", "kill -9 while nothing is under way; the other replica", took)
    assert took < LEASE_SECONDS + 5


@pytest.mark.timeout(180)
async def test_a_leader_that_was_paused_past_its_lease_writes_nothing_that_counts(
    pair: Pair,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Row 2 of the fault matrix: stopped in the middle of its work, it goes on while the other
    one leads; it steps down before it writes anything, and follows.
    """
    pool = await pools.pool(limit=2)
    leader = await pair.leader(api)
    jobs = (
        load.labelled_job(f"job-{n}", f"tenant-{n % 3}", ["sleep", "0.5"], pool=pool)
        for n in range(60)
    )
    await load.create_jobs(api, namespace, jobs)
    await observer.until(lambda o: len(o.started) >= 10)
    leader.stop()
    begin = time.monotonic()
    await asyncio.sleep(1)  # what was sent before arrives
    before = len(observer.started)
    await observer.until(lambda o: len(o.started) > before)
    took = time.monotonic() - begin
    leader.go_on()
    recovered("2", "SIGSTOP past the lease; the other replica", took)
    assert took < LEASE_SECONDS + 5
    await observer.until(lambda o: len(o.complete) == 60, seconds=90)
    await _until(lambda: "leads no more" in {line["message"] for line in pair.log_of(leader)})

    assert observer.peak_live <= 2
    assert sorted(len(pods) for pods in observer.pods.values()) == [1] * 60
    tokens = [token for job in observer.tokens.values() for token in job]
    assert len(tokens) == len(set(tokens)) == 60
    lines = [line["message"] for line in pair.log_of(leader)]
    assert "granted" not in lines[lines.index("leads no more") :]
    assert leader.alive


async def test_changes_of_the_leader_are_events_on_the_lease(pair: Pair, api: Api) -> None:
    await pair.leader(api)
    events = await api.until_all(
        "/apis/events.k8s.io/v1/namespaces/kwicket-system/events", lambda seen: bool(seen)
    )
    notes = [e["note"] for e in events.values() if e["reason"] == "LeaderElection"]
    assert any(note.endswith(" leads") for note in notes)


@pytest.mark.timeout(120)
async def test_a_follower_writes_nothing(
    pair: Pair, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=1)
    leader = await pair.leader(api)
    await submit(api, namespace, "first", pool)
    await observer.until(lambda o: "first" in o.complete)
    granted = {"granted", "set aside", "recovered"}
    [follower] = [o for o in pair.both if o is not leader]
    assert granted.isdisjoint(line["message"] for line in pair.log_of(follower))
