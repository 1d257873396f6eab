"""The ranking: all waiting Jobs in the order in which they would start, kept up to date.

Each cell keeps its Jobs in two heaps (scale.py) and offers the best of each to the fields: one
sorts by the tenants' starts, for the Jobs that are due, and one does not, for those that outrank
them by other factors.
"""

from heapq import heapify, heappop, heappush

from kwicket.core.clocks import Timeless
from kwicket.core.entries import Entry
from kwicket.core.field import Field
from kwicket.core.heaps import EMPTY, NONE, Heap, Heaps
from kwicket.core.order import natural_key
from kwicket.core.places import Cell, Lane
from kwicket.core.priority import Priority
from kwicket.core.scale import Scale
from kwicket.core.tickets import Ticket
from kwicket.core.turns import Turns


class Ranking:
    """Invariants: the first entry of each heap of a cell is alive; if the cell is open and not
    parked, that entry is in each field, in the one by turns at or below its tenant's start.
    """

    def __init__(
        self, priority: Priority, epoch: int, turns: Turns, lanes: list[Lane], cells: list[Cell]
    ) -> None:
        self.priority = priority
        self.entries: dict[str, Entry] = {}
        """All waiting Jobs by UID; those that are held or reserved are in no cell."""
        self._scale = Scale(priority, epoch)
        self._turns = turns
        self._lanes = lanes
        self._cells = cells
        self._heaps: list[Heaps] = []
        self._now = epoch
        self._shift = 0
        self._fresh: list[Entry] = []
        self._unborn: list[tuple[int, Entry]] = []
        self.renew()

    def renew(self) -> None:
        """Offers every cell anew, since all starts have changed."""
        self._due = Field(self._lanes, self._turns, self._judge)
        self._any = None if self._scale.turn_rules else Field(self._lanes, Timeless(), self._judge)
        self._fields = [self._due] if self._any is None else [self._due, self._any]
        for number in range(len(self._heaps)):
            self.offer(self._cells[number])

    def add(self, ticket: Ticket, cell: Cell | None) -> None:
        """Puts a Job in its cell; None for one that may not start."""
        submitted = ticket.submitted
        fresh = submitted > self._now
        key, ageing = self._scale.key(ticket, submitted if fresh else self._now)
        entry = Entry(key, submitted, natural_key(ticket.job), cell, ticket, ageing)
        self.entries[ticket.uid] = entry
        if cell is None:
            return
        if fresh:
            self._fresh.append(entry)
        self._insert(cell, entry)

    def drop(self, uid: str) -> None:
        """Takes a Job out."""
        entry = self.entries.pop(uid)
        entry.gone = True
        if entry.cell is None:
            return
        heap = self._heap(entry)
        if heap[0] is entry:
            _clean(heap)
            self._offer_top(entry.cell, heap)
        self._compact(entry.cell)

    def offer(self, cell: Cell) -> None:
        """Offers a cell that may start again, or whose tenant's start has fallen."""
        if cell.number < len(self._heaps):
            pile = self._heaps[cell.number]
            self._offer_top(cell, pile.ageing)
            self._offer_top(cell, pile.steady)

    def touch(self, lane: Lane) -> None:
        """Notes that a lane has opened."""
        for field in self._fields:
            field.touch(lane)

    def rescale(self, grown: int) -> None:
        """Takes a scale of starts that is so many times as large."""
        self._due.rescale(grown)

    def advance(self, now: int) -> None:
        """Takes in that it is `now`, which is never earlier than before."""
        self._now = now
        self._shift = self._scale.shift(now)
        if self._fresh or self._unborn:
            self._see_births()
        for field in self._fields:
            if field.crowded:
                field.tidy(self._tops)

    def best(self) -> Entry | None:
        """The Job that starts next; None if there is none that may."""
        shift = self._shift
        due = self._due.best(shift)
        if due is None or self._any is None:
            return due
        other = self._any.best(shift)
        assert other is not None
        first = _rank(due, shift, self._scale.turn) < _rank(other, shift, 0)
        return due if first else other

    def take(self, entry: Entry, cell: Cell) -> None:
        """Takes the Job that `best` found out of its cell.

        The cell's next one is offered by `follow_up`, once the turn is taken.
        """
        del self.entries[entry.ticket.uid]
        entry.gone = True
        for field in self._fields:
            field.taken(cell.lane.number, entry)
        _clean(self._heap(entry))

    def follow_up(self, entry: Entry, cell: Cell) -> None:
        """Offers the best Job of a cell from which one of its class was taken."""
        pile = self._heaps[cell.number]
        self._offer_top(cell, pile.ageing if entry.ageing else pile.steady)

    def settle(self) -> bool:
        """Sorts some of what was offered; False once hardly anything is left to sort."""
        return any(field.settle() for field in self._fields)

    def shrink(self, count: int) -> bool:
        """Lets go of so many Jobs of a ranking out of use, not all at once; False when empty."""
        if any(field.release() for field in self._fields):
            return True
        for _ in range(min(count, len(self.entries))):
            entry = self.entries.popitem()[1]
            if entry.cell is not None:
                heaps = self._heaps[entry.cell.number]
                heaps.ageing.clear()
                heaps.steady.clear()
        return bool(self.entries)

    def check(self) -> None:
        """Raises AssertionError if an invariant is broken."""
        offered = {lane.number: self._due.entries(lane) for lane in self._lanes}
        for number, pile in enumerate(self._heaps):
            cell = self._cells[number]
            for heap in (pile.ageing, pile.steady):
                live = [entry for entry in heap if self.entries.get(entry.ticket.uid) is entry]
                assert live == [entry for entry in heap if not entry.gone]
                assert not heap or heap[0] is min(live)
                if heap and cell.open and not cell.parked:
                    start = self._turns.start(cell.tenant)
                    starts = [
                        s for s, entries in offered[cell.lane.number].items()
                        if any(entry is heap[0] for entry in entries)
                    ]  # fmt: skip
                    assert starts, "the best Job of an open cell is offered"
                    assert min(starts) <= start, "at or below its tenant's start"

    def _heap(self, entry: Entry) -> Heap:
        """The heap that an entry is in, or was."""
        assert entry.cell is not None
        pile = self._heaps[entry.cell.number]
        return pile.ageing if entry.ageing else pile.steady

    def _insert(self, cell: Cell, entry: Entry) -> None:
        if len(self._heaps) <= cell.number:
            self._heaps += [NONE] * (cell.number + 1 - len(self._heaps))
        pile = self._heaps[cell.number]
        if pile is NONE:
            pile = self._heaps[cell.number] = Heaps()
        heap = pile.ageing if entry.ageing else pile.steady
        if heap is EMPTY:
            heap = pile.begin(ageing=entry.ageing)
        heappush(heap, entry)
        if heap[0] is entry:
            self._offer_top(cell, heap)

    def _compact(self, cell: Cell) -> None:
        """Drops the dead of a cell when they are most of it."""
        pile = self._heaps[cell.number]
        if len(pile) > 2 * cell.jobs + 32:
            for heap in (pile.ageing, pile.steady):
                heap[:] = [entry for entry in heap if not entry.gone]
                heapify(heap)

    def _offer_top(self, cell: Cell, heap: Heap) -> None:
        if not heap or cell.parked:
            return
        if not cell.open:
            self._park(cell)
            return
        self._due.push(cell.lane, self._turns.start(cell.tenant), heap[0])
        if self._any is not None:
            self._any.push(cell.lane, 0, heap[0])

    def _park(self, cell: Cell) -> None:
        """A shut cell waits at the gate that shuts it, and is offered again when it opens."""
        cell.parked = True
        gate = cell.tenant.gate
        if gate is not None and not gate.open:
            gate.park(cell.number)
        elif cell.seat is not None and not cell.seat.open:
            cell.seat.park(cell.number)

    def _judge(self, entry: Entry) -> bool:
        """Whether an entry is the best of its class in its cell, may start, and rightly ages."""
        cell = entry.cell
        assert cell is not None
        pile = self._heaps[cell.number]
        heap = pile.ageing if entry.ageing else pile.steady
        if entry.gone or heap[0] is not entry or not (cell.open or self._parks(cell)):
            return False
        if not entry.ageing or self._scale.ages_at(entry.submitted, self._now):
            return True
        self._reclass(entry)
        return False

    def _tops(self, entry: Entry) -> bool:
        """Whether an entry is the best of its class in its cell."""
        return not entry.gone and self._heap(entry)[0] is entry

    def _parks(self, cell: Cell) -> bool:
        """Parks a shut cell; False, since it may not start."""
        if not cell.parked:
            self._park(cell)
        return False

    def _see_births(self) -> None:
        """Jobs from the future, by a clock that is ahead, gain nothing until their time comes.

        A Job that came in since the last moment known was taken for one that ages.
        """
        fresh, self._fresh = self._fresh, []
        for entry in fresh:
            if entry.submitted > self._now and self._scale.slope and not entry.gone:
                heappush(self._unborn, (entry.submitted, self._reclass(entry)))
        while self._unborn and self._unborn[0][0] <= self._now:
            entry = heappop(self._unborn)[1]
            if not entry.gone:
                self._reclass(entry)

    def _reclass(self, entry: Entry) -> Entry:
        """Moves a Job that has been ageing, or not, to where it belongs by now.

        One whose age is full moves when it surfaces: until then its key only made it surface early.
        """
        cell, ticket = entry.cell, entry.ticket
        assert cell is not None
        key, ageing = self._scale.key(ticket, self._now)
        moved = Entry(key, entry.submitted, entry.name, cell, ticket, ageing)
        self.entries[ticket.uid] = moved
        entry.gone = True
        heap = self._heap(entry)
        if heap[0] is entry:
            _clean(heap)
            self._offer_top(cell, heap)
        self._insert(cell, moved)
        return moved


def _clean(heap: Heap) -> None:
    while heap and heap[0].gone:
        heappop(heap)


def _rank(entry: Entry, shift: int, bonus: int) -> tuple[int, int, str]:
    """What decides between the two fields: score, then the earlier, then the smaller name."""
    key = entry.key - (shift if entry.ageing else 0) - bonus
    return key, entry.submitted, entry.name
