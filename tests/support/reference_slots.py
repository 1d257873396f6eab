"""What has room, straightforward: every lease, start and reservation is counted for each limit."""

from collections.abc import Iterable

from msgspec import Struct

from kwicket.core.leases import Lease
from kwicket.core.limits import Closed, Count, Jobs, Limit, Pods, Rate
from kwicket.core.starts import Start
from kwicket.core.tickets import Ticket


class Reserved(Struct):
    """A wide Job whose turn has come."""

    ticket: Ticket
    at: int
    charge: int
    kept: int | None = None


class Slots:
    """The Jobs that run, the starts that count, and the reservations, oldest first."""

    def __init__(self, limits: tuple[Limit, ...]) -> None:
        self.limits = limits
        self.running: list[Lease] = []
        self.starts: list[Start] = []
        self.reserved: list[Reserved] = []

    def forget_starts(self, now: int) -> None:
        """Drops the starts that no rate limit sees any more."""
        rates = [(x, x.bound.per) for x in self.limits if isinstance(x.bound, Rate)]
        self.starts = [
            start
            for start in self.starts
            if any(limit.covers(start.lane) and start.at > now - per for limit, per in rates)
        ]

    def used(self, limit: Limit, ticket: Ticket, now: int) -> int:
        """What counts in a limit beside this Job, as far as it concerns Jobs of its tenant."""
        each = limit.count is Count.EACH_TENANT
        kept = [r.ticket for r in self.reserved if each and not self.too_wide(r.ticket)]
        held: list[Lease | Ticket] = [*self.running, *kept]
        counted = [
            x
            for x in held
            if limit.covers(x.lane)
            and x.uid != ticket.uid
            and tenant_counts(limit, x, ticket.tenant)
        ]
        match limit.bound:
            case Jobs():
                return len(counted)
            case Pods():
                return sum(x.width for x in counted)
            case Rate(_, per):
                seen = [x for x in self.starts if x.at > now - per and limit.covers(x.lane)]
                started = sum(tenant_counts(limit, x, ticket.tenant) for x in seen)
                return started + sum(isinstance(x, Ticket) for x in counted)
            case Closed():
                return 0

    def admits(self, limit: Limit, ticket: Ticket, now: int, pods: int | None = None) -> bool:
        """Whether a limit has room for this Job, or for so many pods of it: for one at least."""
        used = self.used(limit, ticket, now)
        match limit.bound:
            case Jobs(most) | Rate(most, _):
                return used < most
            case Pods(most):
                return used + max(ticket.width if pods is None else pods, 1) <= most
            case Closed():
                return False

    def has_room(self, ticket: Ticket, now: int, pods: int | None = None) -> bool:
        """Whether all limits that cover it have."""
        return all(self.admits(limit, ticket, now, pods) for limit in self.covering(ticket))

    def covering(self, ticket: Ticket) -> list[Limit]:
        """The limits that a Job counts in."""
        return [limit for limit in self.limits if limit.covers(ticket.lane)]

    def too_wide(self, ticket: Ticket) -> bool:
        """Whether one of its limits could never admit it, however little runs."""
        bounds = [limit.bound for limit in self.covering(ticket)]
        shut = any(isinstance(x, Closed) or (isinstance(x, Jobs) and not x.most) for x in bounds)
        return shut or any(isinstance(x, Pods) and x.most < max(ticket.width, 1) for x in bounds)

    def could_take_a_turn(self, ticket: Ticket, now: int) -> bool:
        """Whether it has room for one pod; for its width, if a Job of its tenant is reserved."""
        if ticket.held or self.too_wide(ticket):
            return False
        if any(one.ticket.uid == ticket.uid for one in self.reserved):
            return False
        if self._shut(ticket, self.reserved, now):
            return False
        second = any(one.ticket.tenant == ticket.tenant for one in self.reserved)
        return self.has_room(ticket, now, ticket.width if second else 1)

    def could_start(self, one: Reserved, now: int) -> bool:
        """Whether a reserved Job has room, and none of its limits is kept for an older one."""
        older = self.reserved[: self.reserved.index(one)]
        if self.too_wide(one.ticket) or self._shut(one.ticket, older, now):
            return False
        return self.has_room(one.ticket, now)

    def note_kept(self, now: int) -> None:
        """Writes down since when room is kept for a reserved Job."""
        for one in self.reserved:
            if one.kept is None and self.closings(one, now):
                one.kept = now

    def closings(self, one: Reserved, now: int) -> list[Limit]:
        """The limits that a reservation closes for everyone else."""
        if self.too_wide(one.ticket):
            return []
        short = [x for x in self.covering(one.ticket) if not self.admits(x, one.ticket, now)]
        return [] if any(limit.count is Count.EACH_TENANT for limit in short) else short

    def _shut(self, ticket: Ticket, reserved: Iterable[Reserved], now: int) -> bool:
        closed = [limit for one in reserved for limit in self.closings(one, now)]
        return any(limit in closed for limit in self.covering(ticket))


def tenant_counts(limit: Limit, counted: Lease | Start | Ticket, tenant: str) -> bool:
    """Whether a limit counts something as far as it concerns Jobs of this tenant."""
    return limit.count is Count.TOGETHER or counted.tenant == tenant


def exceeded(limits: Iterable[Limit], running: Iterable[Lease]) -> list[str]:
    """The concurrency limits that these Jobs exceed."""
    running = list(running)
    broken = []
    for limit in limits:
        each = limit.count is Count.EACH_TENANT
        for tenant in {x.tenant for x in running} if each else {""}:
            counted = [x for x in running if limit.covers(x.lane) and tenant in ("", x.tenant)]
            match limit.bound:
                case Jobs(most) if len(counted) > most:
                    broken.append(limit.name)
                case Pods(most) if sum(x.width for x in counted) > most:
                    broken.append(limit.name)
    return broken
