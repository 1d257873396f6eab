"""The field: the best Jobs of all lanes, and the search for the one that starts next.

Three heaps deep: a cell offers its best Jobs to its lane's piles, and a lane its front to the
field. Nothing is looked up when a limit closes, a Job goes or a tenant is granted another Job; what
has become wrong is set right when it surfaces. So a shut lane costs nothing.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

from kwicket.core.entries import Entry
from kwicket.core.piles import CROWD, SLACK, Piles
from kwicket.core.places import Lane, Tenant

FEW = 4
"""How many lanes' fronts are sorted at a time while nothing is searched for."""

type Offer = tuple[int, Entry, int]
"""A start, the best entry of one class at that start in a lane, and the lane's number."""


type Judge = Callable[[Entry], bool]
"""Whether an entry that surfaces still is the best of its cell, and may start."""


class Clock(Protocol):
    """What moves starts up."""

    @property
    def virtual_time(self) -> int:
        """No start that a move has left behind is above this."""
        ...

    @property
    def moves(self) -> int:
        """How often virtual time has moved."""
        ...

    @property
    def least(self) -> int:
        """No tenant that waits has a start below this."""
        ...

    def start(self, tenant: Tenant) -> int:
        """The start of a tenant that waits."""
        ...

    def level(self, lane: Lane) -> int:
        """The least start of a lane's Jobs after virtual time last moved for them."""
        ...


class Timeless:
    """No starts: all entries have the same one, 0."""

    virtual_time = 0
    moves = 0
    least = 0

    def start(self, tenant: Tenant) -> int:
        """Always 0."""
        return 0

    def level(self, lane: Lane) -> int:
        """Always 0."""
        return 0


class Field:
    """Invariant: the front of each open lane that is not marked `touched` is among the offers."""

    def __init__(self, lanes: list[Lane], clock: Clock) -> None:
        self._lanes = lanes
        self._clock = clock
        self._piles: list[Piles] = []
        self._touched: set[int] = set()
        self.crowded: set[int] = set()
        """The lanes in which many dead have gathered."""
        self._ageing: list[Offer] = []
        self._steady: list[Offer] = []

    def push(self, lane: Lane, start: int, entry: Entry, *, ageing: bool) -> None:
        """Offers the best entry of a cell, whose tenant has this start."""
        piles = self._of(lane)
        if piles.moves != self._clock.moves:
            self._follow(lane, piles)
        piles.loose(start, ageing=ageing).append(entry)
        piles.pushed += 1
        self._touched.add(lane.number)
        if piles.pushed > piles.most:
            self.crowded.add(lane.number)

    def taken(self, lane: Lane, entry: Entry, *, ageing: bool) -> None:
        """Notes that the entry that `best` found has left its cell."""
        told = self._of(lane).told
        if told is not None:
            deck = told[3].ageing if ageing else told[3].steady
            if told[1 if ageing else 2] is entry:
                deck.drop_first()
        self._touched.add(lane.number)

    def touch(self, lane: Lane) -> None:
        """Notes that a lane has opened."""
        self._of(lane).told = None
        self._touched.add(lane.number)

    def best(
        self,
        shift: int,
        judge_young: Judge,
        judge_old: Judge,
    ) -> tuple[Entry, bool] | None:
        """The entry of the lowest start that comes first, and whether it is ageing.

        `shift` compares the classes (scale.py).
        """
        while True:
            least = self._clock.least
            for number in self._touched:
                self._tell(number, least)
            self._touched.clear()
            young, old = self._top(self._ageing, 1, least), self._top(self._steady, 2, least)
            if self._touched:
                continue
            if young is None and old is None:
                return None
            if old is None or (young is not None and _before(young, old, shift)):
                assert young is not None
                if self._stands(young, judge_young, ageing=True):
                    return young[1], True
            elif self._stands(old, judge_old, ageing=False):
                return old[1], False

    def settle(self) -> bool:
        """Sorts some lanes' fronts, which else the next search does; False if few are left."""
        for _ in range(min(FEW, len(self._touched))):
            self._tell(self._touched.pop(), self._clock.least)
        return len(self._touched) > FEW

    def release(self) -> bool:
        """Lets go of one lane's entries, when it is out of use; False once none is left."""
        self._ageing, self._steady = [], []
        if self._piles:
            self._piles.pop()
        return bool(self._piles)

    def rescale(self, grown: int) -> None:
        """Takes a scale of starts that is so many times as large."""
        for piles in self._piles:
            piles.rescale(grown)
        self._offer_all()

    def tidy(self, tops: Callable[[Entry, bool], bool]) -> None:
        """Sweeps out the dead of a lane where many have gathered; never while `best` searches.

        `tops` says whether an entry is still the best of its class in its cell.
        """
        if self.crowded:
            number = self.crowded.pop()
            self._piles[number].sweep(tops)
            self._touched.add(number)
        if len(self._ageing) + len(self._steady) > CROWD * len(self._piles) + SLACK:
            self._offer_all()

    def entries(self, lane: Lane) -> dict[int, list[Entry]]:
        """The entries of a lane by start, for checks."""
        return self._of(lane).entries()

    def _offer_all(self) -> None:
        self._ageing, self._steady = [], []
        for number, piles in enumerate(self._piles):
            piles.told = None
            self._touched.add(number)

    def _of(self, lane: Lane) -> Piles:
        number, piles = lane.number, self._piles
        while len(piles) <= number:
            piles.append(Piles())
        return piles[number]

    def _tell(self, number: int, least: int) -> None:
        """Offers a lane's front, if it is open."""
        lane, piles = self._lanes[number], self._piles[number]
        told, piles.told = piles.told, None
        if not lane.gate.open:
            return
        if piles.moves != self._clock.moves:
            self._follow(lane, piles)
        front = piles.front()
        if front is not None and front[0] < least:
            piles.rise(least)
            front = piles.front()
        if front is None:
            return
        start, pile = front
        young, old = pile.ageing.first(), pile.steady.first()
        known, known_young, known_old, _ = told or (None, None, None, None)
        if young is not None and (young is not known_young or known != start):
            heappush(self._ageing, (start, young, number))
        if old is not None and (old is not known_old or known != start):
            heappush(self._steady, (start, old, number))
        piles.told = (start, young, old, pile)

    def _follow(self, lane: Lane, piles: Piles) -> None:
        """Joins the piles that virtual time has left behind.

        Before anything is pushed: a start that stands below the lane's comes in later than the
        move that left it behind, and stays as it is until the next one.
        """
        piles.moves = self._clock.moves
        level = self._clock.level(lane)
        if level != piles.level:
            piles.level = level
            piles.rise(level)

    def _top(self, offers: list[Offer], told_as: int, least: int) -> Offer | None:
        """The first offer that is still its lane's front, where no start is below `least`."""
        while offers:
            start, entry, number = offers[0]
            lane, piles = self._lanes[number], self._piles[number]
            told = piles.told
            if told is not None and told[told_as] is entry and told[0] == start and lane.gate.open:
                same = piles.moves == self._clock.moves or self._clock.level(lane) == piles.level
                if start >= least and same:
                    return offers[0]
                piles.told = None
                self._touched.add(number)
            heappop(offers)
        return None

    def _stands(self, found: Offer, judge: Judge, *, ageing: bool) -> bool:
        """Whether the entry stands; if not, it goes, and so do those behind it that do not."""
        start, entry, number = found
        if self._clock.start(_tenant(entry)) <= start and judge(entry):
            return True
        piles = self._piles[number]
        assert piles.told is not None
        pile = piles.told[3]
        deck = pile.ageing if ageing else pile.steady
        while True:
            piles.defer(pile, start, self._clock.start, ageing=ageing)
            following = deck.first()
            if following is None or judge(following):
                break
            deck.drop_first()
        self._touched.add(number)
        return False


def _before(young: Offer, old: Offer, shift: int) -> bool:
    """Whether the ageing offer comes before the steady one."""
    if young[0] != old[0]:
        return young[0] < old[0]
    one, other = young[1], old[1]
    return (one.key - shift, one.submitted, one.name) < (other.key, other.submitted, other.name)


def _tenant(entry: Entry) -> Tenant:
    assert entry.cell is not None
    return entry.cell.tenant
