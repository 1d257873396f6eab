"""A run: the production core in virtual time.

Read top to bottom: events come in the order of their moments; at one moment ends come first, then
arrivals, then the decision, as often as it still grants.
"""

import heapq
from collections.abc import Callable, Sequence
from enum import IntEnum

from msgspec import Struct

from kwicket.core.book import Book
from kwicket.core.decide import MOST_GRANTS, decide, next_opening
from kwicket.core.state import Intent, State
from kwicket.sim.arrivals import Arrival
from kwicket.sim.oracle import charge_truly
from kwicket.sim.worlds import START, Left, Line, World, placed

type Progress = Callable[[int], None]
"""Told now and then how many more Jobs have started."""

STEP = 256
"""After how many grants progress is told, and a book forgets what no ledger would keep."""


class Grant(Struct, frozen=True, gc=False):
    """A Job that was started; moments in milliseconds since the simulation began."""

    arrival: Arrival
    pool: str
    token: int
    at: int

    @property
    def waited(self) -> int:
        """Milliseconds from its submission to its start."""
        return self.at - self.arrival.at

    @property
    def end(self) -> int:
        """When it has run."""
        return self.at + self.arrival.runs


class Run(Struct, frozen=True):
    """What became of the Jobs of a history in a world."""

    world: World
    grants: tuple[Grant, ...]
    """In their order."""
    waiting: tuple[Line, ...] = ()
    """Those that nothing that was left to happen could have started."""
    aside: tuple[Left, ...] = ()
    virtual: tuple[float, ...] = ()
    """If it was watched: its pool's virtual time after each grant."""

    @property
    def end(self) -> int:
        """When the last Job ended, in milliseconds since the simulation began."""
        return max((grant.end for grant in self.grants), default=0)


class _Event(IntEnum):
    END = 0
    ARRIVAL = 1
    OPENING = 2


def run(
    world: World,
    arrivals: Sequence[Arrival],
    progress: Progress | None = None,
    *,
    watched: bool = False,
) -> Run:
    """Lets these Jobs come, start and end in the world until nothing more happens.

    To be watched takes longer, and changes nothing else.
    """
    places = list(placed(world, arrivals))
    lines = [place for place in places if isinstance(place, Line)]
    clockwork = _Clockwork(world, lines, progress or (lambda _: None), watched)
    clockwork.run()
    return Run(
        world=world,
        grants=tuple(clockwork.grants),
        waiting=tuple(line for line in lines if clockwork.waits(line)),
        aside=tuple(place for place in places if isinstance(place, Left)),
        virtual=tuple(clockwork.virtual),
    )


class _Clockwork:
    """A plain class, since it changes in place: the books of the pools and what is to happen."""

    def __init__(
        self, world: World, lines: Sequence[Line], progress: Progress, watched: bool
    ) -> None:
        self.grants: list[Grant] = []
        self.virtual: list[float] = []
        self._books = {
            name: Book(world.catalog.rules(name), State(1)) for name in world.catalog.pools
        }
        self._oracle = world.oracle
        self._watched = watched
        self._most = 1 if watched or world.oracle else MOST_GRANTS
        self._progress = progress
        self._lines = {line.arrival.name: line for line in lines}
        self._openings: dict[str, int] = {}
        self._events = [
            (START + line.arrival.at, _Event.ARRIVAL, number, line.arrival.name)
            for number, line in enumerate(lines)
        ]
        heapq.heapify(self._events)

    def waits(self, line: Line) -> bool:
        """Whether this Job is still in line."""
        return self._books[line.pool].ticket(line.arrival.name) is not None

    def run(self) -> None:
        """Until no event is left."""
        while self._events:
            now = self._events[0][0]
            pools = set()
            while self._events and self._events[0][0] == now:
                pools.add(self._happen(now))
            for pool in sorted(pools):
                self._serve(pool, now)
        self._progress(len(self.grants) % STEP)

    def _happen(self, now: int) -> str:
        """Takes the next event into its book; the pool that it concerns."""
        _, kind, _, name = heapq.heappop(self._events)
        if kind is _Event.OPENING:
            return name
        line = self._lines[name]
        if kind is _Event.END:
            self._books[line.pool].forget(name, at=now)
        else:
            self._books[line.pool].submit(line.ticket)
        return line.pool

    def _serve(self, pool: str, now: int) -> None:
        book = self._books[pool]
        decision = decide(book, now, self._most)
        while decision.grants or decision.reserved:
            for intent in decision.grants:
                self._start(pool, book, intent, now)
            decision = decide(book, now, self._most)
        if book.waiting:
            self._wake(pool, next_opening(book, now), now)

    def _start(self, pool: str, book: Book, intent: Intent, now: int) -> None:
        book.acknowledge(intent.lease.token)
        arrival = self._lines[intent.lease.uid].arrival
        if self._oracle:
            charge_truly(book, intent, arrival.runs)
        if self._watched:
            fairness = book.state().fairness
            self.virtual.append(fairness.virtual_time / fairness.scale)
        self.grants.append(Grant(arrival, pool, intent.lease.token, now - START))
        event = (now + arrival.runs, _Event.END, intent.lease.token, arrival.name)
        heapq.heappush(self._events, event)
        if len(self.grants) % STEP == 0:
            self._progress(STEP)
            book.snapshot()

    def _wake(self, pool: str, opening: int | None, now: int) -> None:
        """Makes sure that the pool is served at the moment that time alone may bring a start."""
        if opening is None or opening <= now or self._openings.get(pool) == opening:
            return
        self._openings[pool] = opening
        heapq.heappush(self._events, (opening, _Event.OPENING, 0, pool))
