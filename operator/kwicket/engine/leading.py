"""Leading: term after term. A leader serves every pool; a follower keeps the books tidy."""

import asyncio
from collections.abc import Callable, Iterable

from kwicket.engine.desk import Desk
from kwicket.engine.intake import Intake
from kwicket.engine.parting import Parting
from kwicket.engine.registry import Registry
from kwicket.engine.sweeps import Sweeps
from kwicket.engine.term import Term
from kwicket.engine.turn import Turns
from kwicket.ports.leadership import Leadership

LEFT = 1.0
"""Seconds for which a new leader leaves it to its pools' recoveries to have all considered anew."""
TIDY = 10.0
"""Seconds after which a follower's books let go of what has left their lines."""


class Leading:
    """Owns the tasks that take turns, one for each pool, while this replica leads."""

    def __init__(
        self,
        *,
        leadership: Leadership,
        term: Term,
        turns: Turns,
        registry: Registry,
        intake: Intake,
        consider: Callable[[Iterable[str]], None],
        sweeps: Sweeps,
        parting: Parting | None = None,
    ) -> None:
        """`consider` looks at submissions anew. `parting` is there if clusters share the ledger."""
        self._parting = parting
        self._leadership = leadership
        self._term = term
        self._turns = turns
        self._registry = registry
        self._intake = intake
        self._consider = consider
        self._sweeps = sweeps
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._leads = False

    def open(self, desk: Desk) -> None:
        """A pool was declared; a follower's desk is kept in step and takes no turns."""
        if self._leads:
            if self._parting is not None:
                self._parting.stay(desk.name)
            task = self._term.spawn(self._turns.serve(desk), name=f"pool {desk.name}")
            self._serving[desk.name] = task

    def close(self, desk: Desk) -> None:
        """A pool is declared no more."""
        if desk.name in self._serving:
            self._serving.pop(desk.name).cancel()
        self._intake.evict(desk)
        self._consider(desk.abandon())
        if self._parting is not None and self._leads:
            self._parting.part(desk)

    async def run(self) -> None:
        """One term after the other; each begins by recovering every pool."""
        while True:
            await self._follow()
            self._leads = True
            for desk in self._registry.desks():
                self.open(desk)
            if self._parting is not None:
                self._parting.begin(desk.name for desk in self._registry.desks())
            self._registry.changed.set()
            self._term.spawn(self._sweeps.one(LEFT if self._serving else 0), name="sweep")
            await self._leadership.lost()
            self._leads = False
            await self._term.end()
            self._serving.clear()
            for desk in self._registry.desks():
                self._consider(desk.abandon())

    async def _follow(self) -> None:
        """Returns once this replica leads."""
        while True:
            try:
                async with asyncio.timeout(TIDY):
                    return await self._leadership.gained()
            except TimeoutError:
                for desk in self._registry.desks():
                    desk.tidy()
