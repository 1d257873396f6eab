"""An operator that does nothing but decide and commit, in a process of its own."""

import asyncio
import gc
import time
from collections.abc import Callable
from itertools import cycle

from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Page
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.postgres import PostgresLedger

from .table import Table
from .task import Done, Task, meet, name


def decide(task: Task) -> Done:
    """Takes turns in the pools, until its time is over."""
    return asyncio.run(_decide(task))


async def _decide(task: Task) -> Done:
    connections = Connections(task.url)
    operator = Operator(PostgresLedger(connections, Cluster(f"c-{task.number}")))
    tables = [Table(task, await operator.read(name(n))) for n in range(task.pools)]
    gc.freeze()  # as an operator does that has read all
    meet()
    used, began = time.process_time(), time.monotonic()
    turns = cycle([tables[(n + task.number) % task.pools] for n in range(task.pools)])
    while time.monotonic() < began + task.seconds:
        await operator.turn(next(turns))
    done = operator.done(time.process_time() - used, time.monotonic() - began)
    await connections.close()
    return done


class Operator:
    """Counts what it does."""

    def __init__(self, ledger: PostgresLedger) -> None:
        self._ledger = ledger
        self._grants = self._conflicts = 0
        self._commits: list[float] = []
        self._deciding = 0.0

    async def read(self, pool: str) -> Page:
        """The page of a pool, which nobody removes."""
        page = await self._ledger.read(pool)
        assert page is not None
        return page

    async def turn(self, table: Table) -> None:
        """One batch, or what somebody else did in its place.

        What happens in the cluster is heard while the ledger takes it, as an operator hears it.
        """
        state = self._timed(table.decide)
        began = time.perf_counter()
        commit = asyncio.create_task(self._ledger.commit(table.page, state))
        await asyncio.sleep(0)
        self._timed(table.hear)
        try:
            answer = await commit
        except UnavailableError:
            answer = None
        if isinstance(answer, Page):
            self._commits.append(time.perf_counter() - began)
            self._grants += self._timed(lambda: table.committed(answer))
        else:
            self._conflicts += 1
            page = await self.read(table.page.pool)
            self._timed(lambda: table.take_over(page))

    def done(self, processor: float, seconds: float) -> Done:
        """What it has done, in so many seconds of processor time and of time."""
        return Done(
            self._grants, self._conflicts, processor, self._commits, seconds, self._deciding
        )

    def _timed[Answer](self, work: Callable[[], Answer]) -> Answer:
        """Work on a book."""
        began = time.process_time()
        answer = work()
        self._deciding += time.process_time() - began
        return answer
