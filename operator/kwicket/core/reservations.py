"""Reservations: the wide Jobs whose turn has come, and the room that is kept for them.

A reservation counts as if it ran in the gates of its own tenant, so that the tenant's other Jobs
leave it its room. Once it has room in those, each gate of the pool or of its lane in which it lacks
room is closed for everyone else; nothing is kept where there is room.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from kwicket.core.gates import Gate
from kwicket.core.places import Cell
from kwicket.core.scopes import Scopes
from kwicket.core.state import Reservation
from kwicket.core.turns import Turns
from kwicket.core.waiting import Waiting


class Reservations:
    """Oldest first, one a tenant at most."""

    def __init__(self, turns: Turns, waiting: Waiting) -> None:
        self._turns = turns
        self._waiting = waiting
        self.idle = True
        """Whether nothing is reserved, nor closed."""
        self._by_uid: dict[str, Reservation] = {}
        self._held: set[str] = set()
        self._closed: dict[int, Gate] = {}

    def __iter__(self) -> Iterator[Reservation]:
        return iter(self._by_uid.values())

    def get(self, uid: str) -> Reservation | None:
        """The reservation of a Job."""
        return self._by_uid.get(uid)

    def add(self, reservation: Reservation) -> None:
        """Reserves a Job that waits."""
        self.idle = False
        self._by_uid[reservation.uid] = reservation
        self._hold(reservation, 1)

    def remove(self, uid: str) -> Reservation | None:
        """Ends a reservation, since its Job starts or its turn is lost."""
        reservation = self._by_uid.pop(uid, None)
        if reservation is None:
            return None
        self._hold(reservation, -1)
        tenant = self._turns.tenant(reservation.tenant)
        for cell in tenant.cells.values():
            self._waiting.bar(cell, barred=cell.width > cell.lane.widest)
        return reservation

    def first_to_start(self) -> Reservation | None:
        """The oldest that has room everywhere, in no gate that is closed for an older one."""
        closed: set[int] = set()
        for reservation in self:
            lacking = self._lacking(reservation)
            if lacking is None:
                continue
            if not lacking and not any(id(gate) in closed for gate in self._shared(reservation)):
                return reservation
            closed.update(id(gate) for gate in lacking)
        return None

    def keep(self, now: int) -> bool:
        """Closes for everyone else what lacks room for a reservation, and opens the rest.

        Returns whether room is kept for one for the first time.
        """
        wanted: dict[int, Gate] = {}
        first = False
        for reservation in tuple(self):
            lacking = self._lacking(reservation) or []
            wanted |= {id(gate): gate for gate in lacking}
            if lacking and reservation.kept is None:
                self._by_uid[reservation.uid] = replace(reservation, kept=now)
                first = True
        for gate in self._closed.values():
            if id(gate) not in wanted:
                self._scopes.keep_out(gate, closed=False)
        for gate in wanted.values():
            self._scopes.keep_out(gate, closed=True)
        self._closed = wanted
        self.idle = not self._by_uid and not wanted
        self._bar_wide()
        return first

    def keep_nothing(self) -> None:
        """Opens all that was closed, since the gates are made anew."""
        for gate in self._closed.values():
            self._scopes.keep_out(gate, closed=False)
        self._closed = {}

    def keeper(self, lane: str) -> Reservation | None:
        """The first for which room is kept that Jobs of a lane would need."""
        for reservation in self:
            gates = self._lacking(reservation) or []
            if any(gate.lane is None or gate.lane.name == lane for gate in gates):
                return reservation
        return None

    def hold_all(self) -> None:
        """Counts every reservation in gates that were made anew."""
        self._held.clear()
        for reservation in self:
            self._hold(reservation, 1)

    def held(self) -> Iterator[tuple[Gate, int]]:
        """The gates of its own tenant in which each is counted, and its width."""
        for reservation in self:
            if reservation.uid in self._held:
                tenant = self._turns.tenant(reservation.tenant)
                lane = self._scopes.lane(reservation.lane)
                for gate in self._scopes.own_gates(tenant, lane):
                    yield gate, reservation.width

    def closes(self, gate: Gate) -> bool:
        """Whether a gate is closed for everyone else."""
        return id(gate) in self._closed

    @property
    def _scopes(self) -> Scopes:
        return self._waiting.scopes

    def _hold(self, reservation: Reservation, sign: int) -> None:
        tenant = self._turns.tenant(reservation.tenant)
        lane = self._scopes.lane(reservation.lane)
        if sign > 0 and reservation.width > lane.widest:
            return
        if sign < 0 and reservation.uid not in self._held:
            return
        (self._held.add if sign > 0 else self._held.discard)(reservation.uid)
        for gate in self._scopes.own_gates(tenant, lane):
            gate.reserved += sign
            gate.held += sign * reservation.width
            self._scopes.mind(gate)

    def _shared(self, reservation: Reservation) -> list[Gate]:
        tenant = self._turns.tenant(reservation.tenant)
        return self._scopes.shared_gates(tenant, self._scopes.lane(reservation.lane))

    def _lacking(self, reservation: Reservation) -> list[Gate] | None:
        """The shared gates that lack room for it; None while its tenant's own ones do.

        None too for a Job that is too wide for a limit since an edit: it keeps nothing.
        """
        now, width = self._scopes.now, reservation.width
        tenant = self._turns.tenant(reservation.tenant)
        lane = self._scopes.lane(reservation.lane)
        own = self._scopes.own_gates(tenant, lane)
        if width > lane.widest or not all(gate.fits_reserved(width, now) for gate in own):
            return None
        return [gate for gate in self._shared(reservation) if not gate.fits_reserved(width, now)]

    def _bar_wide(self) -> None:
        """A tenant with a reservation gets no second one: its other Jobs must fit as they are."""
        for reservation in self:
            for cell in self._turns.tenant(reservation.tenant).cells.values():
                if cell.width > 1:
                    self._waiting.bar(cell, barred=not self._fits(cell))

    def _fits(self, cell: Cell) -> bool:
        gates: Iterable[Gate] = self._scopes.path(cell.tenant, cell.lane)
        now, width = self._scopes.now, cell.width
        return width <= cell.lane.widest and all(gate.fits(width, now) for gate in gates)
