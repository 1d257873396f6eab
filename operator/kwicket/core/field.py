"""The field: the best Jobs of all lanes, and the search for the one that starts next.

Three heaps deep: a cell offers its best Jobs to its lane's piles, and a lane its front to the
field. Nothing is looked up when a limit closes, a Job goes or a tenant is granted another Job; what
has become wrong is set right when it surfaces. So a shut lane costs nothing.
"""

from collections.abc import Callable
from heapq import heappop, heappush, heapreplace

from kwicket.core.clocks import Clock
from kwicket.core.entries import Entry
from kwicket.core.piles import CROWD, SLACK, Offer, Piles
from kwicket.core.places import Lane, Tenant

FEW = 4
"""How many lanes' fronts are sorted at a time while nothing is searched for."""

type Judge = Callable[[Entry], bool]
"""Whether an entry that surfaces still is the best of its cell, and may start."""


class Field:
    """Invariant: the front of each open lane that is not marked `touched` is among the offers."""

    def __init__(self, lanes: list[Lane], clock: Clock, judge: Judge) -> None:
        self._lanes = lanes
        self._clock = clock
        self._judge = judge
        self._piles: list[Piles] = []
        self._touched: set[int] = set()
        self.crowded: set[int] = set()
        """The lanes in which many dead have gathered."""
        self._ageing: list[Offer] = []
        self._steady: list[Offer] = []

    def push(self, lane: Lane, start: int, entry: Entry) -> None:
        """Offers the best entry of a cell, whose tenant has this start."""
        number = lane.number
        piles = self._piles[number] if number < len(self._piles) else self._made(number)
        if piles.moves != self._clock.moves:
            self._follow(lane, piles)
        piles.loose(start, ageing=entry.ageing).append(entry)
        if piles.front is None or start <= piles.start:
            self._touched.add(number)
        piles.pushed += 1
        if piles.pushed > piles.most:
            self.crowded.add(number)

    def taken(self, number: int, entry: Entry) -> None:
        """Notes that the entry that `best` found, in the lane of this number, has left its cell."""
        piles = self._piles[number]
        offer = piles.young if entry.ageing else piles.old
        if offer is None or offer[1] is not entry:
            return
        assert piles.front is not None
        deck = piles.front.ageing if entry.ageing else piles.front.steady
        following = deck.drop_first()
        if following is None:
            self._touched.add(number)
        else:
            self._offer(piles, (offer[0], following, number))

    def touch(self, lane: Lane) -> None:
        """Notes that a lane has opened."""
        if lane.number < len(self._piles):
            self._touched.add(lane.number)

    def best(self, shift: int) -> Entry | None:
        """The entry of the lowest start that comes first. `shift` compares classes (scale.py)."""
        while True:
            least = self._clock.least
            if self._touched:
                for number in self._touched:
                    self._tell(number, least)
                self._touched.clear()
            young, old = self._top(self._ageing, least), self._top(self._steady, least)
            if self._touched:
                continue
            found = young if old is None or (young and _before(young, old, shift)) else old
            if found is None:
                return None
            if self._stands(found):
                return found[1]

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

    def tidy(self, tops: Callable[[Entry], bool]) -> None:
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
        number = lane.number
        return self._piles[number].entries() if number < len(self._piles) else {}

    def _offer_all(self) -> None:
        self._ageing, self._steady = [], []
        for number, piles in enumerate(self._piles):
            piles.forget()
            self._touched.add(number)

    def _made(self, number: int) -> Piles:
        while len(self._piles) <= number:
            self._piles.append(Piles())
        return self._piles[number]

    def _tell(self, number: int, least: int) -> None:
        """Offers a lane's front, if it is open."""
        lane, piles = self._lanes[number], self._piles[number]
        if not lane.gate.open:
            return
        if piles.moves != self._clock.moves:
            self._follow(lane, piles)
        front = piles.find()
        if front is not None and piles.start < least:
            piles.rise(least)
            front = piles.find()
        if front is None:
            piles.forget()
            return
        young, old = front.ageing.first(), front.steady.first()
        if young is None:
            piles.young = None
        elif not _same(piles.young, piles.start, young):
            self._offer(piles, (piles.start, young, number))
        if old is None:
            piles.old = None
        elif not _same(piles.old, piles.start, old):
            self._offer(piles, (piles.start, old, number))

    def _offer(self, piles: Piles, offer: Offer) -> None:
        """Offers a lane's best entry of one class instead of what was offered before."""
        if offer[1].ageing:
            offers, former, piles.young = self._ageing, piles.young, offer
        else:
            offers, former, piles.old = self._steady, piles.old, offer
        if offers and offers[0] is former:
            heapreplace(offers, offer)
        else:
            heappush(offers, offer)

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
            self._touched.add(lane.number)

    def _top(self, offers: list[Offer], least: int) -> Offer | None:
        """The first offer that is still its lane's front, where no start is below `least`."""
        while offers:
            offer = offers[0]
            start, entry, number = offer
            piles, lane = self._piles[number], self._lanes[number]
            if (piles.young if entry.ageing else piles.old) is offer:
                if not lane.gate.open:
                    piles.forget()
                elif start >= least and (
                    piles.moves == self._clock.moves or self._clock.level(lane) == piles.level
                ):
                    return offer
                else:
                    piles.forget()
                    self._touched.add(number)
            heappop(offers)
        return None

    def _stands(self, found: Offer) -> bool:
        """Whether the entry stands; if not, it goes, and so do those behind it that do not."""
        start, entry, number = found
        if self._clock.start(_tenant(entry)) <= start and self._judge(entry):
            return True
        piles = self._piles[number]
        assert piles.front is not None
        deck = piles.front.ageing if entry.ageing else piles.front.steady
        while (following := deck.first()) is not None:
            if self._clock.start(_tenant(following)) > start:
                piles.defer(deck, start, self._clock, ageing=entry.ageing)
            elif self._judge(following):
                break
            else:
                deck.drop_first()
        self._touched.add(number)
        return False


def _before(young: Offer, old: Offer, shift: int) -> bool:
    """Whether the ageing offer comes before the steady one."""
    if young[0] != old[0]:
        return young[0] < old[0]
    one, other = young[1], old[1]
    return (one.key - shift, one.submitted, one.name) < (other.key, other.submitted, other.name)


def _same(known: Offer | None, start: int, entry: Entry) -> bool:
    return known is not None and known[1] is entry and known[0] == start


def _tenant(entry: Entry) -> Tenant:
    assert entry.cell is not None
    return entry.cell.tenant
