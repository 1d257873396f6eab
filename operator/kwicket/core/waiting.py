"""Waiting: the Jobs in line, in cells, and the rankings that sort them."""

from collections.abc import Iterable, Iterator

from kwicket.core.entries import Entry
from kwicket.core.places import NEVER, Cell, Lane, Tenant
from kwicket.core.priority import Priority
from kwicket.core.ranking import Ranking
from kwicket.core.scopes import Scopes
from kwicket.core.tickets import Ticket
from kwicket.core.turns import Turns


class Waiting:
    """Counts each Job at its tenant, each free one in its cell too.

    A changed priority is a second ranking, filled slice by slice while the first still decides;
    both hear of everything meanwhile.
    """

    def __init__(self, priority: Priority, turns: Turns, now: int) -> None:
        self.free = 0
        """How many Jobs are not held."""
        self._turns = turns
        turns.fallen = self.offer
        self._scopes = Scopes(turns, self)
        self._cells: list[Cell] = []
        self._unused: list[int] = []
        self._now = now
        self._ranking = self._made(priority)
        self._coming: Ranking | None = None
        self._unranked: list[str] = []
        self._retired: list[Ranking] = []

    def __len__(self) -> int:
        return len(self._ranking.entries)

    @property
    def scopes(self) -> Scopes:
        """The gates before the cells."""
        return self._scopes

    @property
    def reordering(self) -> bool:
        """Whether a changed priority is still being taken over."""
        return self._coming is not None

    def tickets(self) -> Iterator[Ticket]:
        """All Jobs in line."""
        return (entry.ticket for entry in self._ranking.entries.values())

    def ticket(self, uid: str) -> Ticket | None:
        """The Job in line with this UID."""
        entry = self._ranking.entries.get(uid)
        return None if entry is None else entry.ticket

    def cell(self, uid: str) -> Cell | None:
        """The cell in which a Job waits; None if it is held, reserved or not in line."""
        entry = self._ranking.entries.get(uid)
        return None if entry is None else entry.cell

    def add(self, ticket: Ticket, *, reserved: bool = False) -> None:
        """Puts a Job in line; in a cell unless it is held or reserved."""
        tenant = self._turns.tenant(ticket.tenant)
        tenant.waiting += 1
        tenant.free += not ticket.held
        self.free += not ticket.held
        if tenant.waiting == 1:
            self._turns.begin(tenant)
        cell = None
        if not (ticket.held or reserved):
            cell = tenant.cells.get((ticket.lane, ticket.width)) or self._opened(tenant, ticket)
            cell.jobs += 1
        self._ranking.add(ticket, cell)
        if self._coming is not None:
            self._coming.add(ticket, cell)

    def remove(self, uid: str) -> Ticket | None:
        """Takes a Job out of the line; None if it is not in it."""
        entry = self._ranking.entries.get(uid)
        if entry is None:
            return None
        for ranking in self._rankings():
            if uid in ranking.entries:
                ranking.drop(uid)
        self._left(entry, self._turns.tenant(entry.ticket.tenant))
        return entry.ticket

    def replace(self, ticket: Ticket, *, reserved: bool = False) -> None:
        """Says anew what is known of a Job in line, whose tenant goes on waiting."""
        tenant = self._turns.tenant(ticket.tenant)
        tenant.waiting += 1
        self.remove(ticket.uid)
        self.add(ticket, reserved=reserved)
        tenant.waiting -= 1

    def best(self) -> Entry | None:
        """The candidate that comes first; None if there is none."""
        return self._ranking.best() if self._scopes.pool.open else None

    def take(self, entry: Entry, charge: int | None, *, stays: bool = False) -> None:
        """The candidate that `best` found takes its turn, which costs `charge`; None for no turn.

        It leaves its cell, and the line too unless it `stays` as a reserved one.
        """
        cell = entry.cell
        assert cell is not None
        tenant = cell.tenant
        self._ranking.take(entry, cell)
        if self._coming is not None and entry.ticket.uid in self._coming.entries:
            self._coming.drop(entry.ticket.uid)
        if charge is not None:
            self._turns.take(tenant, charge)
        tenant.waiting += stays
        self._left(entry, tenant)
        self._ranking.follow_up(entry, cell)
        if stays:
            self.add(entry.ticket, reserved=True)
            tenant.waiting -= 1

    def advance(self, now: int) -> None:
        """Takes in that it is `now`."""
        self._now = now
        self._scopes.advance(now)
        self._ranking.advance(now)
        if self._coming is not None:
            self._coming.advance(now)

    def offer(self, tenant: Tenant) -> None:
        """A tenant's start is below where its Jobs were last offered."""
        for cell in tenant.cells.values():
            for ranking in self._rankings():
                ranking.offer(cell)

    def bar(self, cell: Cell, *, barred: bool) -> None:
        """Keeps a cell from starting because of its width, or lets it again."""
        if cell.barred == barred:
            return
        cell.barred = barred
        if barred:
            self._turns.pin(cell.tenant)
        cell.join(self._turns.moves)
        if not barred:
            self.unpark([cell.number])
            self.offer(cell.tenant)

    def touch(self, lane: Lane) -> None:
        """A lane has opened."""
        for ranking in self._rankings():
            ranking.touch(lane)

    def unpark(self, numbers: Iterable[int]) -> None:
        """A gate has opened, at which these cells were parked."""
        for number in numbers:
            cell = self._cells[number]
            if cell.parked:
                cell.parked = False
                for ranking in self._rankings():
                    ranking.offer(cell)

    def unpark_all(self) -> None:
        """Every gate is a new one: what was shut, or stood still, is offered again."""
        self.unpark([cell.number for cell in self._cells if cell.parked])
        for tenant in self._turns.tenants.values():
            if tenant.waiting and self._turns.start(tenant) < self._turns.virtual_time:
                self.offer(tenant)

    def renew(self) -> None:
        """Every start is another one: lanes and cells follow virtual time from here."""
        moves = self._turns.moves
        for lane in self._scopes.lanes:
            lane.level, lane.move = 0, 0
            lane.joined = moves if lane.gate.open else NEVER
        for cell in self._cells:
            cell.join(moves)
        for ranking in self._rankings():
            ranking.renew()

    def rebar(self) -> None:
        """The widths that limits admit may have changed."""
        for tenant in self._turns.tenants.values():
            for cell in tenant.cells.values():
                self.bar(cell, barred=cell.width > cell.lane.widest)

    def rescale(self, grown: int) -> None:
        """Takes a scale of starts that is so many times as large."""
        for lane in self._scopes.lanes:
            lane.level *= grown
        for ranking in self._rankings():
            ranking.rescale(grown)

    def reorder(self, priority: Priority) -> None:
        """Begins to take over a changed priority."""
        self._retire(self._coming)
        self._coming = None if priority == self._ranking.priority else self._made(priority)
        self._unranked = list(self._ranking.entries) if self._coming is not None else []
        if not self._unranked:
            self.reorder_some(0)

    def reorder_some(self, count: int) -> bool:
        """Ranks so many Jobs by the changed priority; the last of them puts it into force.

        What the former ranking held is then let go as slowly. With the priority as it is, sorts
        what came in, as after a start. Returns whether more is to be done.
        """
        coming = self._coming
        if coming is None:
            self._retired = [old for old in self._retired if old.shrink(count)]
            return bool(self._retired) or self._ranking.settle()
        if not self._unranked:
            if not coming.settle():
                self._retire(self._ranking)
                self._ranking, self._coming = coming, None
            return True
        rest = max(len(self._unranked) - count, 0)
        for uid in self._unranked[rest:]:
            entry = self._ranking.entries.get(uid)
            if entry is not None and uid not in coming.entries:
                coming.add(entry.ticket, entry.cell)
        del self._unranked[rest:]
        return True

    def _retire(self, ranking: Ranking | None) -> None:
        if ranking is not None:
            self._retired.append(ranking)

    def check(self) -> None:
        """Raises AssertionError if an invariant is broken."""
        self._scopes.check()
        self._turns.check()
        for ranking in self._rankings():
            ranking.check()
        for tenant in self._turns.tenants.values():
            mine = [t for t in self.tickets() if t.tenant == tenant.name]
            assert tenant.waiting == len(mine)
            assert tenant.free == sum(not ticket.held for ticket in mine)
            cells = [self.cell(ticket.uid) for ticket in mine]
            assert {id(c) for c in cells if c} == {id(c) for c in tenant.cells.values()}
            assert sum(c.jobs for c in tenant.cells.values()) == sum(c is not None for c in cells)

    def _rankings(self) -> tuple[Ranking, ...]:
        return (self._ranking,) if self._coming is None else (self._ranking, self._coming)

    def _made(self, priority: Priority) -> Ranking:
        return Ranking(priority, self._now, self._turns, self._scopes.lanes, self._cells)

    def _opened(self, tenant: Tenant, ticket: Ticket) -> Cell:
        number = self._unused.pop() if self._unused else len(self._cells)
        lane = self._scopes.lane(ticket.lane)
        cell = Cell(number, tenant, lane, ticket.width)
        if number == len(self._cells):
            self._cells.append(cell)
        else:
            self._cells[number] = cell
        cell.barred = ticket.width > lane.widest
        self._scopes.seat(cell)
        tenant.cells[ticket.lane, ticket.width] = cell
        return cell

    def _left(self, entry: Entry, tenant: Tenant) -> None:
        """Counts a Job out of its cell and of its tenant's line."""
        ticket = entry.ticket
        cell = entry.cell
        if cell is not None:
            cell.jobs -= 1
            if not cell.jobs:
                self._turns.pin(tenant)
                del tenant.cells[cell.lane.name, cell.width]
                self._unused.append(cell.number)
        tenant.waiting -= 1
        tenant.free -= not ticket.held
        self.free -= not ticket.held
        if not tenant.waiting:
            self._turns.leave(tenant)
