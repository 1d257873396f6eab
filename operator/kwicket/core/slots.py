"""Slots: the Jobs that run, and what starting and ending one does to limits and charges."""

from collections.abc import Iterable

from kwicket.core.charges import Charges
from kwicket.core.leases import Lease
from kwicket.core.limits import Limit
from kwicket.core.pools import Charging
from kwicket.core.scopes import Scopes
from kwicket.core.starts import Start, StartLog
from kwicket.core.state import Charge, Intent
from kwicket.core.tickets import Ticket
from kwicket.core.turns import Turns


class Slots:
    """Each lease is counted in the gates of its tenant and lane, and among its tenant's own."""

    def __init__(self, turns: Turns, scopes: Scopes, charging: Charging) -> None:
        self._turns = turns
        self._scopes = scopes
        self.charging = charging
        self.version = 1
        """The highest token ever given."""
        self.last_grant = 0
        """The moment of the last decision that granted or reserved."""
        self.leases: dict[str, Lease] = {}
        self.intents: dict[int, Intent] = {}
        """The grants that were not seen on their Jobs yet, by token."""
        self.charges = Charges(turns)
        self.starts = StartLog()

    def charge(self, ticket: Ticket) -> int:
        """What a grant costs the Job's tenant; a redelivery costs nothing."""
        if ticket.deliveries:
            return 0
        if self.charging is Charging.STARTS:
            return 1
        return self.charges.guess(ticket.tenant, ticket.width)

    def start(self, ticket: Ticket, charge: int, now: int) -> Intent:
        """Gives a Job its slot and its token at `now`."""
        self.version = token = self.version + 1
        lease = Lease(ticket.uid, ticket.job, ticket.tenant, ticket.lane, ticket.width, token)
        if self._hold(lease, now):
            self.starts.add(Start(now, lease.tenant, lease.lane))
        if self.charging is Charging.TIME:
            self.charges.open(Charge(token, lease.tenant, lease.width, now, charge))
        intent = Intent(lease, now, charge)
        self.intents[token] = intent
        return intent

    def double(self, now: int) -> bool:
        """Doubles the charges of Jobs that have run for as long as they were charged for."""
        return self.charging is Charging.TIME and self.charges.double(now)

    def occupy(self, lease: Lease) -> None:
        """Counts a Job that is seen running."""
        known = self.free(lease.uid)
        if known is not None and known.token != lease.token:
            self.charges.close(known.token)
        self._hold(lease, None)

    def free(self, uid: str) -> Lease | None:
        """Counts a Job out; None if it held no slot."""
        lease = self.leases.pop(uid, None)
        if lease is not None:
            tenant = self._turns.tenants[lease.tenant]
            tenant.running -= 1
            self._scopes.exit(tenant, lease.lane, lease.width)
        return lease

    def end(self, uid: str, at: int | None) -> Lease | None:
        """Counts a Job out that ended at `at` and settles its charge."""
        lease = self.free(uid)
        if lease is not None and self.charging is Charging.TIME:
            self.charges.settle(lease.token, at)
        return lease

    def give_back(self, intent: Intent) -> bool:
        """Undoes a start that never reached its Job; False if it is not under way."""
        lease = intent.lease
        known = self.intents.pop(lease.token, None)
        if known is None:
            return False
        held = self.leases.get(lease.uid)
        if held is not None and held.token == lease.token:
            self.free(lease.uid)
        tenant = self._turns.tenant(lease.tenant)
        if self.charging is Charging.TIME:
            self.charges.cancel(lease.token)
        else:
            self._turns.refund(tenant, known.charge, credit=False)
        if self.starts.remove(Start(intent.at, lease.tenant, lease.lane)):
            self._scopes.forget_start(tenant, self._scopes.lane(lease.lane), intent.at)
        return True

    def count_anew(self, limits: tuple[Limit, ...]) -> None:
        """Counts all that runs, and the starts that are known, under these limits."""
        self._scopes.declare(limits)
        for lease in self.leases.values():
            tenant = self._turns.tenant(lease.tenant)
            self._scopes.enter(tenant, lease.lane, lease.width)
        for start in self._sorted_starts():
            tenant = self._turns.tenant(start.tenant)
            self._scopes.stamp(tenant, self._scopes.lane(start.lane), start.at)

    def _sorted_starts(self) -> Iterable[Start]:
        return sorted(self.starts, key=lambda start: start.at)

    def _hold(self, lease: Lease, at: int | None) -> bool:
        tenant = self._turns.tenant(lease.tenant)
        self.leases[lease.uid] = lease
        tenant.running += 1
        return self._scopes.enter(tenant, lease.lane, lease.width, at)
