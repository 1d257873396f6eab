"""An operator that does nothing but commit batches of grants, in a process of its own."""

import asyncio
import time
from itertools import cycle
from multiprocessing.synchronize import Barrier

from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.fairness import Fairness
from kwicket.core.leases import Lease
from kwicket.core.state import Intent, State
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Page
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.postgres import PostgresLedger

BATCH = 16
FIRST = 10**12
"""The first token, and the virtual time."""


class Task(Struct, frozen=True):
    """What a process does."""

    url: str
    number: int
    pools: int
    tenants: int
    seconds: float


class Done(Struct, frozen=True):
    """What it has done."""

    grants: int
    conflicts: int
    processor: float
    """Seconds of its own processor time."""
    commits: list[float]
    """Seconds that each commit took that was no conflict."""


def meet_at(gate: Barrier) -> None:
    """Where the processes wait for each other before they begin."""
    _gates[:] = [gate]


def meet() -> None:
    """Waits for the others."""
    _gates[0].wait()


_gates: list[Barrier] = []


def name(number: int) -> str:
    """Of a pool."""
    return f"pool-{number}"


def first(tenants: int) -> State:
    """The state of a pool with so many tenants that have been served."""
    names = [f"tenant-{n}" for n in range(tenants)]
    tags = {tenant: FIRST + n for n, tenant in enumerate(names, start=1)}
    means = dict.fromkeys(names, 60_000)
    return State(FIRST, Fairness(scale=997, virtual_time=FIRST, tags=tags), means=means)


def following(state: State, tenants: int) -> State:
    """The state after a batch; the grants of the batch before have left the page."""
    intents = tuple(_intent(state.version + n, tenants) for n in range(1, BATCH + 1))
    tags = dict(state.fairness.tags)
    for one in intents:
        tags[one.lease.tenant] += 997
    fairness = replace(state.fairness, tags=tags)
    return replace(state, version=state.version + BATCH, fairness=fairness, intents=intents)


def _intent(token: int, tenants: int) -> Intent:
    tenant = f"tenant-{token % tenants}"
    return Intent(
        Lease(f"uid-of-a-job-{token}", f"team/job-{token}", tenant, "", 1, token), token, 1
    )


def decide(task: Task) -> Done:
    """Commits to the pools in turn, until its time is over."""
    return asyncio.run(_decide(task))


async def _decide(task: Task) -> Done:
    connections = Connections(task.url)
    ledger = PostgresLedger(connections, Cluster(f"c-{task.number}"))
    pages = {n: await ledger.read(name(n)) for n in range(task.pools)}
    meet()
    used, commits, conflicts = time.process_time(), [], 0
    end = time.monotonic() + task.seconds
    turns = cycle([(n + task.number) % task.pools for n in range(task.pools)])
    while time.monotonic() < end:
        pool = next(turns)
        page = pages[pool] or await ledger.read(name(pool))
        began = time.perf_counter()
        pages[pool] = await _committed(ledger, page, task.tenants) if page else None
        if pages[pool]:
            commits.append(time.perf_counter() - began)
        conflicts += pages[pool] is None
    await connections.close()
    return Done(BATCH * len(commits), conflicts, time.process_time() - used, commits)


async def _committed(ledger: PostgresLedger, page: Page, tenants: int) -> Page | None:
    """The page after a batch; None if it must be read again."""
    try:
        answer = await ledger.commit(page, following(page.state, tenants))
    except UnavailableError:
        return None
    return None if isinstance(answer, Conflict) else answer
