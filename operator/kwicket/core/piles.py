"""Piles: the best Jobs of each cell of a lane, by their tenants' start and then by key."""

from collections.abc import Callable
from heapq import heappop, heappush

from kwicket.core.clocks import Clock
from kwicket.core.entries import Entry

SMALL = 8
"""A few newcomers are pushed one by one; more than an eighth of what is there are sorted in."""

CROWD = 4
SLACK = 256
"""When the dead are swept: after so many offers for each that lived at the last sweep, and some."""


type Offer = tuple[int, Entry, int]
"""A start, the best entry of one class at that start in a lane, and the lane's number."""


class Deck:
    """Entries of one start and one class, sorted only when the first is asked for.

    `run` is sorted downwards, so that its best is popped from its end; `late` is a heap of those
    that came later; to `loose` new ones are added, in no order yet. What was once in order comes
    mostly in order again, which makes sorting cheap.
    """

    __slots__ = ("late", "loose", "run")

    def __init__(self) -> None:
        self.run: list[Entry] = []
        self.late: list[Entry] = []
        self.loose: list[Entry] = []

    def __len__(self) -> int:
        return len(self.run) + len(self.late) + len(self.loose)

    def __bool__(self) -> bool:
        return bool(self.run or self.late or self.loose)

    def first(self) -> Entry | None:
        """The entry with the smallest key; None if there is none."""
        if self.loose:
            self._sort()
        run, late = self.run, self.late
        if not late:
            return run[-1] if run else None
        return run[-1] if run and run[-1] < late[0] else late[0]

    def drop_first(self) -> Entry | None:
        """Drops the entry that `first` gives; returns the next one."""
        run, late = self.run, self.late
        if late and not (run and run[-1] < late[0]):
            heappop(late)
        else:
            run.pop()
        if late or self.loose:
            return self.first()
        return run[-1] if run else None

    def absorb(self, other: "Deck") -> None:
        """Takes all entries of another deck."""
        self.loose += other.entries()

    def entries(self) -> list[Entry]:
        """All entries, in no order."""
        return self.run + self.late + self.loose

    def keep(self, wanted: Callable[[Entry], bool]) -> None:
        """Drops the entries that are not wanted, and all but one of a cell."""
        self.loose = list({e.cell: e for e in self.entries() if wanted(e)}.values())
        self.run, self.late = [], []

    def _sort(self) -> None:
        loose, self.loose = self.loose, []
        if len(loose) * SMALL <= len(self.run) + len(self.late) or len(loose) < SMALL:
            for entry in loose:
                heappush(self.late, entry)
            return
        self.run += self.late
        self.run += loose
        self.run.sort(reverse=True)
        self.late = []


class Pile:
    """Entries with one start: those that gain by age, and those that do not."""

    __slots__ = ("ageing", "steady")

    def __init__(self) -> None:
        self.ageing = Deck()
        self.steady = Deck()

    def __len__(self) -> int:
        return len(self.ageing) + len(self.steady)

    def absorb(self, other: "Pile") -> None:
        """Takes all entries of another pile."""
        self.ageing.absorb(other.ageing)
        self.steady.absorb(other.steady)


class Piles:
    """Invariant: the best entry of a cell that may start is in a pile with a start that is at or
    below its tenant's. An entry that has ceased to be that is dropped when it surfaces.
    """

    __slots__ = (
        "_piles", "_starts", "front", "level", "most", "moves", "old", "pushed", "start", "young",
    )  # fmt: skip

    def __init__(self) -> None:
        self._piles: dict[int, Pile] = {}
        self._starts: list[int] = []
        self.front: Pile | None = None
        """The pile of the lowest start, when it was last looked for."""
        self.start = 0
        """Its start."""
        self.young: Offer | None = None
        """What the field above holds as the best ageing entry of the front."""
        self.old: Offer | None = None
        """And as the best steady one."""
        self.level = 0
        """The start to which the piles below it were last joined."""
        self.moves = -1
        """How often virtual time had moved then."""
        self.pushed = 0
        """How many entries came since the last sweep."""
        self.most = SLACK
        """With how many more most of them may be dead."""

    def loose(self, start: int, *, ageing: bool) -> list[Entry]:
        """Where an entry of this class is added whose tenant has this start."""
        pile = self._piles.get(start)
        if pile is None:
            pile = self._piles[start] = Pile()
            heappush(self._starts, start)
        return pile.ageing.loose if ageing else pile.steady.loose

    def defer(self, deck: Deck, start: int, clock: Clock, *, ageing: bool) -> None:
        """Moves the entries in front of a deck of this start whose tenants start later."""
        now = clock.virtual_time
        run, late = deck.run, deck.late
        later, loose = -1, deck.loose
        while run or late:
            is_late = late and not (run and run[-1] < late[0])
            cell = (late[0] if is_late else run[-1]).cell
            assert cell is not None
            tenant = cell.tenant
            moment = tenant.tag if tenant.tag >= now else tenant.floor
            if moment < now:
                moment = clock.start(tenant)
            if moment != later:
                if moment <= start:
                    return
                later, loose = moment, self.loose(moment, ageing=ageing)
            loose.append(heappop(late) if is_late else run.pop())

    def find(self) -> Pile | None:
        """Finds the front anew."""
        while self._starts:
            start = self._starts[0]
            pile = self._piles[start]
            if pile.ageing or pile.steady:
                self.start, self.front = start, pile
                return pile
            del self._piles[start]
            heappop(self._starts)
        self.front = None
        return None

    def forget(self) -> None:
        """Nothing of it is offered any more."""
        self.young = self.old = None

    def rise(self, start: int) -> None:
        """No tenant's start is below this any more: the lower piles become one."""
        risen: Pile | None = None
        while self._starts and self._starts[0] <= start:
            pile = self._piles.pop(heappop(self._starts))
            if risen is None:
                risen = pile
            elif len(pile) > len(risen):
                pile.absorb(risen)
                risen = pile
            else:
                risen.absorb(pile)
        if risen is not None:
            self._piles[start] = risen
            heappush(self._starts, start)

    def sweep(self, tops: Callable[[Entry], bool]) -> None:
        """Drops the entries that are not the best of their class in their cell any more."""
        self.pushed = 0
        self.forget()
        for pile in self._piles.values():
            pile.ageing.keep(tops)
            pile.steady.keep(tops)
        self.most = SLACK + CROWD * sum(len(pile) for pile in self._piles.values())

    def rescale(self, grown: int) -> None:
        """Takes a scale that is so many times as large."""
        self._piles = {start * grown: pile for start, pile in self._piles.items()}
        self._starts = [start * grown for start in self._starts]
        self.level *= grown
        self.front = None
        self.forget()

    def entries(self) -> dict[int, list[Entry]]:
        """All entries by start, for checks."""
        return {
            start: pile.ageing.entries() + pile.steady.entries()
            for start, pile in self._piles.items()
        }
