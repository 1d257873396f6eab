"""The book of a pool: its rules, whose turn it is, who waits and who holds a slot.

The one mutable thing of the core. `decide` moves it on; `snapshot` is what must be kept of it.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kwicket.core.leases import Lease
from kwicket.core.places import Tenant
from kwicket.core.pools import Charging, Rules
from kwicket.core.reservations import Reservations
from kwicket.core.slots import Slots
from kwicket.core.state import Charge, Intent, Reservation, State, restarted
from kwicket.core.tickets import Ticket
from kwicket.core.turns import Turns
from kwicket.core.waiting import Waiting


class Book:
    """A submission waits or holds a slot, never both.

    Its parts are the core's own business; everyone else uses its methods. `unsaved` says whether
    anything has changed that `snapshot` would keep.
    """

    def __init__(self, rules: Rules, state: State, now: int = 0) -> None:
        """`now` is the earliest moment at which anything is decided, as far as it is known."""
        self._rules = rules
        self.now = max(now, state.last_grant)
        self.turns = Turns(rules.pool.shares)
        self.in_line = Waiting(rules.pool.priority, self.turns, self.now)
        self.slots = Slots(self.turns, self.in_line.scopes, rules.pool.charging)
        self.reservations = Reservations(self.turns, self.in_line)
        self.unsaved = False
        self.adopt(state)

    @property
    def rules(self) -> Rules:
        """The rules in force, but for a changed priority while the book is `reordering`."""
        return self._rules

    @property
    def version(self) -> int:
        """The highest token ever given."""
        return self.slots.version

    @property
    def last_grant(self) -> int:
        """The moment of the last decision that granted or reserved, in milliseconds since 1970."""
        return self.slots.last_grant

    @property
    def waiting(self) -> int:
        """How many Jobs wait, held and reserved ones included."""
        return len(self.in_line)

    @property
    def running(self) -> int:
        """How many Jobs hold a slot."""
        return len(self.slots.leases)

    @property
    def reordering(self) -> bool:
        """Whether a changed priority is still on its way; `reorder` brings it on."""
        return self.in_line.reordering

    @property
    def starts_since(self) -> Mapping[str, int]:
        """For each rate limit by name: all starts later than this moment are known."""
        return self.slots.starts.since

    def tickets(self) -> Iterator[Ticket]:
        """The Jobs in line, in no order."""
        return self.in_line.tickets()

    def leases(self) -> Iterator[Lease]:
        """The Jobs that hold a slot, in no order."""
        return iter(self.slots.leases.values())

    def charges(self) -> tuple[Charge, ...]:
        """What running Jobs were charged and is not settled yet, by token."""
        return self.slots.charges.all()

    def ticket(self, uid: str) -> Ticket | None:
        """The ticket of a submission, if it waits here."""
        return self.in_line.ticket(uid)

    def lease(self, uid: str) -> Lease | None:
        """The lease of a submission, if it holds a slot here."""
        return self.slots.leases.get(uid)

    def reservation(self, uid: str) -> Reservation | None:
        """The reservation of a submission, if its turn has come and it waits for room."""
        return self.reservations.get(uid)

    def line(self) -> dict[str, int]:
        """How many Jobs of each tenant wait, held ones included."""
        tenants = self.turns.tenants.values()
        return {tenant.name: tenant.waiting for tenant in tenants if tenant.waiting}

    def submit(self, ticket: Ticket, at: int | None = None) -> None:
        """Puts a Job in line, or says anew what is known of one.

        It gives up any slot it had, which ended at `at` (milliseconds since 1970).
        """
        uid = ticket.uid
        known = self.in_line.ticket(uid)
        if known is not None and known.tenant != ticket.tenant:
            self._leave(uid, at)
            known = None
        reserved = self.reservations.get(uid)
        if reserved is not None and not reserved.still_of(ticket):
            self._lose(reserved, at)
            reserved = None
        put = self.in_line.add if known is None else self.in_line.replace
        put(ticket, reserved=reserved is not None)
        if uid in self.slots.leases:
            self._end(uid, at)
        if ticket.held:
            self._drop_credit(self.turns.tenant(ticket.tenant))

    def occupy(self, lease: Lease) -> None:
        """Gives a Job its slot; it leaves the line."""
        self.slots.occupy(lease)
        self._leave(lease.uid, None)

    def forget(self, uid: str, at: int | None = None) -> None:
        """Takes a submission out of the line, or frees its slot, which ended at `at`.

        In milliseconds since 1970; without it, what it was charged stands.
        """
        go = self._end if uid in self.slots.leases else self._leave
        go(uid, at)

    def vacate(self, uid: str) -> None:
        """Frees the slot of a submission, if it has one; what it was charged stays open."""
        self.slots.free(uid)

    def settle(self, token: int, at: int | None) -> None:
        """Settles a charge whose Job ended at `at` unseen; without a moment it stands."""
        charge = self.slots.charges.token(token)
        if charge is not None:
            self.slots.charges.settle(token, at)
            self._drop_credit(self.turns.tenant(charge.tenant))
            self.unsaved = True

    def acknowledge(self, token: int) -> None:
        """Notes that a grant was seen on its Job."""
        self.unsaved |= self.slots.intents.pop(token, None) is not None

    def give_back(self, intent: Intent) -> None:
        """Undoes a grant that never reached its Job: slot, start and charge are given back."""
        if self.slots.give_back(intent):
            self._drop_credit(self.turns.tenant(intent.lease.tenant))
            self.unsaved = True

    def pass_over(self, token: int) -> None:
        """Gives no later grant this token or a lower one."""
        if token > self.slots.version:
            self.slots.version = token
            self.unsaved = True

    def declare(self, rules: Rules) -> None:
        """Takes new rules. A changed priority comes into force once it is `reorder`ed."""
        was, self._rules = self._rules, rules
        if rules.pool.shares != was.pool.shares:
            self.in_line.rescale(self.turns.reshare(rules.pool.shares))
        if rules.pool.charging is not was.pool.charging:
            state = replace(self.snapshot(), charging=was.pool.charging)
            self.slots.charging = rules.pool.charging
            self.adopt(state)
            self.unsaved = True
        elif rules.limits != was.limits and not (
            self.reservations.idle and self.in_line.scopes.adjust(rules.limits)
        ):
            self._count_anew()
        if rules.pool.priority != was.pool.priority:
            self.in_line.reorder(rules.pool.priority)

    def reorder(self, count: int) -> bool:
        """Brings a changed priority, or a line that was just read, in order by so many Jobs.

        Returns whether there is more to do; meanwhile decisions may be taken, if slower.
        """
        return self.in_line.reorder_some(count)

    def adopt(self, state: State) -> None:
        """Takes the ledger's word instead of its own turns, grants under way and charges."""
        state = restarted(state, self._rules.pool.charging)
        self.slots.version, self.slots.last_grant = state.version, state.last_grant
        self.now = max(self.now, state.last_grant)
        self._release_reserved()
        self.slots.intents = {intent.lease.token: intent for intent in state.intents}
        self.slots.starts.adopt(state.starts, state.starts_since)
        self.turns.adopt(state.fairness)
        self.slots.charges.adopt(state.charges, state.means)
        self.in_line.renew()
        self._count_anew()
        for reservation in state.reservations:
            self.reservations.add(reservation)
            ticket = self.in_line.ticket(reservation.uid)
            if ticket is not None and reservation.still_of(ticket):
                self.in_line.replace(ticket, reserved=True)
        self._returning, self.unsaved = True, False

    def recovered(self) -> None:
        """Since a state was taken, all that there is has come into line or into a slot.

        What the state kept for Jobs that are gone is dropped. The first decision says so, too.
        """
        if not self._returning:
            return
        self._returning = False
        self.turns.forget_standing()
        for reservation in tuple(self.reservations):
            ticket = self.ticket(reservation.uid)
            if ticket is None or not reservation.still_of(ticket):
                self._lose(reservation, self.now)
        for tenant in self.turns.tenants.values():
            self._drop_credit(tenant)

    def snapshot(self) -> State:
        """The state to be written; what nobody needs any more is forgotten here."""
        self.unsaved = False
        self.slots.charges.forget_idle()
        self.slots.starts.prune(self._rules.limits, self.now)
        self.turns.forget_idle(self.now)
        return self.state()

    def state(self) -> State:
        """All that a ledger must keep."""
        return State(
            version=self.slots.version,
            fairness=self.turns.value(),
            charging=self._rules.pool.charging,
            intents=tuple(self.slots.intents.values()),
            reservations=tuple(self.reservations),
            charges=self.slots.charges.all(),
            means=dict(self.slots.charges.means),
            starts=tuple(self.slots.starts),
            starts_since=self.slots.starts.since,
            last_grant=self.slots.last_grant,
        )

    def check(self) -> None:
        """Raises AssertionError if an invariant of one of its structures is broken."""
        self.in_line.check()
        assert not self.slots.leases.keys() & {ticket.uid for ticket in self.tickets()}

    def advance(self, now: int) -> int:
        """Takes in that it is `now`, or the latest moment that it knows of; returns which."""
        self.now = max(now, self.now)
        self.recovered()
        self.in_line.advance(self.now)
        return self.now

    def _leave(self, uid: str, at: int | None) -> None:
        ticket = self.in_line.remove(uid)
        if ticket is not None:
            reserved = self.reservations.get(uid)
            if reserved is not None:
                self._lose(reserved, at)
            self._drop_credit(self.turns.tenant(ticket.tenant))
            self.unsaved = True

    def _end(self, uid: str, at: int | None) -> None:
        lease = self.slots.end(uid, at)
        if lease is not None and self._rules.pool.charging is Charging.TIME:
            self._drop_credit(self.turns.tenant(lease.tenant))
            self.unsaved = True

    def _lose(self, reservation: Reservation, at: int | None) -> None:
        """A reserved Job has gone, or is held: it pays for the time its room was kept."""
        self.reservations.remove(reservation.uid)
        self.unsaved = True
        if self._rules.pool.charging is Charging.TIME and at is not None:
            kept = 0 if reservation.kept is None else max(at - reservation.kept, 0)
            used = reservation.width * kept
            self.slots.charges.correct(reservation.tenant, reservation.charge, used)

    def _release_reserved(self) -> None:
        for reservation in tuple(self.reservations):
            self.reservations.remove(reservation.uid)
            ticket = self.in_line.ticket(reservation.uid)
            if ticket is not None:
                self.in_line.replace(ticket)

    def _count_anew(self) -> None:
        """Counts all that runs and is reserved in new gates, under the limits as they are."""
        self.reservations.keep_nothing()
        self.slots.count_anew(self._rules.limits)
        self.reservations.hold_all()
        self.in_line.rebar()
        self.in_line.unpark_all()

    def _drop_credit(self, tenant: Tenant) -> None:
        if tenant.credit and not tenant.running and not tenant.free and not self._returning:
            tenant.credit = 0
