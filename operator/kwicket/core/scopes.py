"""Scopes: the gates of a pool, and who hears of it when one of them opens or shuts."""

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Protocol

from kwicket.core.caps import NO_CAP, Caps, Scope, by_scope, widest_by_lane
from kwicket.core.gates import Gate
from kwicket.core.limits import Count, Limit
from kwicket.core.places import NEVER, Cell, Lane, Tenant
from kwicket.core.tickets import Ticket
from kwicket.core.turns import Turns

UNCAPPED = Caps()


class Watcher(Protocol):
    """Who must know which Jobs may be looked at again."""

    def touch(self, lane: Lane) -> None:
        """A lane has opened."""
        ...

    def unpark(self, numbers: Iterable[int]) -> None:
        """A gate has opened, at which these cells were parked."""
        ...

    def offer(self, tenant: Tenant) -> None:
        """A tenant's start is below where its Jobs were last offered."""
        ...

    def rebar(self) -> None:
        """The widths that limits admit may have changed."""
        ...


class Scopes:
    """Invariant: each gate's `open` is what it `admits` at `now`."""

    def __init__(self, turns: Turns, watcher: Watcher) -> None:
        self.now = 0
        self.pool = Gate(UNCAPPED)
        self.lanes: list[Lane] = []
        self._turns = turns
        self._watcher = watcher
        self._by_name: dict[str, Lane] = {}
        self._caps: dict[Scope, Caps] = {}
        self._widest: dict[str, int] = {}
        self._timers: list[tuple[int, int, Gate]] = []
        self._timed = 0

    def lane(self, name: str) -> Lane:
        """The lane of this name; the pool's own for no name."""
        known = self._by_name.get(name)
        if known is None:
            known = Lane(name, len(self.lanes), self._turns.moves)
            self.lanes.append(known)
            self._by_name[name] = known
            self._cap_lane(known)
        return known

    def path(self, tenant: Tenant, lane: Lane) -> tuple[Gate, ...]:
        """The gates with limits that a Job of this tenant in this lane must pass."""
        known = tenant.paths.get(lane.name)
        if known is None:
            shared = [self.pool, lane.gate]
            own = [self._gate_of(tenant), self._seat_of(tenant, lane)]
            gates = [*(g for g in shared if g.caps is not UNCAPPED), *(g for g in own if g)]
            known = tenant.paths[lane.name] = tuple(gates)
        return known

    def own_gates(self, tenant: Tenant, lane: Lane) -> list[Gate]:
        """Those of them that count this tenant alone."""
        return [gate for gate in self.path(tenant, lane) if gate.tenant is not None]

    def shared_gates(self, tenant: Tenant, lane: Lane) -> list[Gate]:
        """Those of them that count all tenants together."""
        return [gate for gate in self.path(tenant, lane) if gate.tenant is None]

    def gate(self, limit: Limit, tenant: Tenant) -> Gate | None:
        """The gate in which a limit counts this tenant; None where nothing is counted yet."""
        if limit.count is Count.TOGETHER:
            return self.lane(limit.lane).gate if limit.lane else self.pool
        return tenant.seats.get(limit.lane) if limit.lane else tenant.gate

    def fits(self, ticket: Ticket) -> bool:
        """Whether every gate has room for all pods of a Job."""
        path = self.path(self._turns.tenant(ticket.tenant), self.lane(ticket.lane))
        return all(gate.fits(ticket.width, self.now) for gate in path)

    def enter(self, tenant: Tenant, lane: str, width: int, at: int | None = None) -> bool:
        """Counts a Job in; `at` is the moment if it starts only now.

        Returns whether a rate sees its start.
        """
        rated = False
        path = tenant.paths.get(lane)
        for gate in self.path(tenant, self.lane(lane)) if path is None else path:
            gate.jobs += 1
            gate.pods += width
            if at is not None and gate.caps.rates:
                gate.stamp(at)
                rated = True
            if gate.open and gate.jobs + gate.reserved >= gate.brim:
                self.mind(gate)
        return rated

    def exit(self, tenant: Tenant, lane: str, width: int) -> None:
        """Counts a Job out that has ended; its start stays."""
        for gate in tenant.paths[lane]:
            gate.jobs -= 1
            gate.pods -= width
            if not gate.open:
                self.mind(gate)

    def stamp(self, tenant: Tenant, lane: Lane, at: int) -> None:
        """Counts a start of a Job that may have ended since."""
        for gate in self.path(tenant, lane):
            if gate.caps.rates:
                gate.stamp(at)
                self.mind(gate)

    def forget_start(self, tenant: Tenant, lane: Lane, at: int) -> None:
        """Takes a start back that never was."""
        for gate in self.path(tenant, lane):
            if at in gate.stamps:
                gate.stamps.remove(at)
                self.mind(gate)

    def mind(self, gate: Gate) -> None:
        """Opens or shuts a gate after a change of what it counts."""
        admits = gate.admits(self.now)
        if not admits and gate.caps.rates:
            self._set_timer(gate)
        if admits == gate.open:
            return
        gate.open = admits
        if gate.tenant is None:
            if gate.lane is not None:
                self._turned(gate.lane, opened=admits)
        elif admits:
            self._opened(gate.tenant, gate)
        else:
            self._shut(gate.tenant, gate)

    def advance(self, now: int) -> None:
        """Takes in that it is `now`: opens what a rate has kept shut until then."""
        self.now = now
        while self._timers and self._timers[0][0] <= now:
            self.mind(self._pop_timer())

    def next_opening(self) -> int | None:
        """When the next rate may have room again; None if none is waited for."""
        while self._timers:
            moment, _, gate = self._timers[0]
            if moment > self.now and moment == gate.timer and not gate.open:
                return moment
            self._pop_timer()
        return None

    def keep_out(self, gate: Gate, *, closed: bool) -> None:
        """Closes a gate for everyone but a reservation, or opens it."""
        if gate.closed != closed:
            gate.closed = closed
            self.mind(gate)

    def adjust(self, limits: tuple[Limit, ...]) -> bool:
        """Takes limits that count what was counted before, if with other numbers.

        Returns False, and leaves all as it was, if something must be counted that was not.
        """
        was, caps = self._caps, by_scope(limits)
        if was.keys() != caps.keys() or any(was[x].rates != caps[x].rates for x in was):
            return False
        self._caps = caps
        for scope in caps:
            if caps[scope] != was[scope]:
                for gate in self._gates_of(*scope):
                    gate.limit(caps[scope])
                    self.mind(gate)
        former, self._widest = self._widest, widest_by_lane(limits)
        for lane in self.lanes:
            self._read(lane)
        if self._widest != former:
            self._watcher.rebar()
        return True

    def declare(self, limits: tuple[Limit, ...]) -> None:
        """Takes new limits. All that is counted must then be counted anew (`enter`, `stamp`)."""
        self._caps, self._widest = by_scope(limits), widest_by_lane(limits)
        self._timers.clear()
        self.pool = Gate(self._caps.get(("", Count.TOGETHER), UNCAPPED))
        self.mind(self.pool)
        for lane in self.lanes:
            self._cap_lane(lane)
        tenants = self._turns.tenants.values()
        for tenant in tenants:
            self._turns.pin(tenant)
        for tenant in tenants:
            tenant.gate, tenant.seats, tenant.paths = None, {}, {}
            tenant.joined = self._turns.moves
            for cell in tenant.cells.values():
                self.seat(cell)

    def seat(self, cell: Cell) -> None:
        """Gives a cell, and its tenant, the gates that its Jobs must pass."""
        self.path(cell.tenant, cell.lane)
        cell.seat = cell.tenant.seats.get(cell.lane.name)
        cell.join(self._turns.moves)

    def check(self) -> None:
        """Raises AssertionError if an invariant is broken."""
        gates = [self.pool, *(lane.gate for lane in self.lanes)]
        for tenant in self._turns.tenants.values():
            gates += [tenant.gate] if tenant.gate else []
            gates += tenant.seats.values()
        for gate in gates:
            assert gate.open == gate.admits(self.now)

    def _cap_lane(self, lane: Lane) -> None:
        caps = self._caps.get((lane.name, Count.TOGETHER), UNCAPPED) if lane.name else UNCAPPED
        was, lane.gate = lane.gate, Gate(caps, lane=lane)
        lane.gate.open = was.open  # `mind` tells the turns and the field only of a change
        self._read(lane)
        self.mind(lane.gate)

    def _read(self, lane: Lane) -> None:
        """What the limits say of a lane's tenants and of its Jobs' width."""
        name = lane.name
        lane.each = self._caps.get((name, Count.EACH_TENANT)) if name else None
        lane.widest = min(self._widest.get("", NO_CAP), self._widest.get(name, NO_CAP))

    def _gates_of(self, lane: str, count: Count) -> list[Gate]:
        """The gates of a scope; those of each tenant that has one."""
        if count is Count.EACH_TENANT:
            tenants = self._turns.tenants.values()
            gates = [x.seats.get(lane) if lane else x.gate for x in tenants]
            return [gate for gate in gates if gate is not None]
        if not lane:
            return [self.pool]
        return [self._by_name[lane].gate] if lane in self._by_name else []

    def _gate_of(self, tenant: Tenant) -> Gate | None:
        each = self._caps.get(("", Count.EACH_TENANT))
        if tenant.gate is None and each is not None:
            tenant.gate = Gate(each, tenant=tenant)
            self.mind(tenant.gate)
        return tenant.gate

    def _seat_of(self, tenant: Tenant, lane: Lane) -> Gate | None:
        if lane.each is None:
            return None
        seat = tenant.seats.get(lane.name)
        if seat is None:
            seat = tenant.seats[lane.name] = Gate(lane.each, tenant=tenant, lane=lane)
            self.mind(seat)
        return seat

    def _pop_timer(self) -> Gate:
        moment, _, gate = heappop(self._timers)
        if gate.timer == moment:
            gate.timer = 0
        return gate

    def _set_timer(self, gate: Gate) -> None:
        moment = gate.opens(self.now)
        if moment <= self.now:
            moment = gate.opens(self.now, gate.reserved)
        if self.now < moment < NO_CAP and moment != gate.timer:
            gate.timer = moment
            self._timed += 1
            heappush(self._timers, (moment, self._timed, gate))

    def _turned(self, lane: Lane, *, opened: bool) -> None:
        if opened:
            self._turns.opened(lane)
            self._watcher.touch(lane)
        else:
            self._turns.shut(lane)

    def _opened(self, tenant: Tenant, gate: Gate) -> None:
        """What was found shut, and what stood still unfound, is offered again."""
        self._join(tenant, gate)
        numbers, gate.parked = gate.parked, None
        if numbers:
            self._watcher.unpark(numbers)
        if tenant.waiting and self._turns.start(tenant) < self._turns.virtual_time:
            self._watcher.offer(tenant)

    def _shut(self, tenant: Tenant, gate: Gate) -> None:
        self._turns.pin(tenant)
        self._join(tenant, gate)

    def _join(self, tenant: Tenant, gate: Gate) -> None:
        if gate.lane is None:
            tenant.join(self._turns.moves)
        else:
            gate.joined = self._turns.moves if gate.open else NEVER
