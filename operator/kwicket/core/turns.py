"""Turns: Start-time Fair Queuing as it goes on (fairness.py), in O(log n) a grant.

A tenant's start follows virtual time at each move that finds one of its Jobs eligible, and stands
otherwise. Nobody is looked up at a move. Each lane remembers the last move that found it open,
and `start` works out the rest: a tenant has followed a lane's move if it had a cell there since
before it, and was itself not shut out (`joined`).
"""

from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from math import lcm

from kwicket.core.fairness import SCALE, Fairness
from kwicket.core.places import NEVER, Lane, Tenant

MOST_IDLE = 4096
"""How many tenants' tags are kept while they neither wait nor run."""


class Turns:
    """Virtual time, and a start, a tag and a credit for each tenant.

    Invariants: a tenant is `behind` exactly if it waits and its tag is at or below virtual time;
    the tag of every other tenant that waits is in `_ahead`.
    """

    def __init__(self, shares: Mapping[str, int]) -> None:
        self.scale = lcm(SCALE, *shares.values())
        self.virtual_time = 0
        self.moves = 0
        """How often virtual time has moved."""
        self.tenants: dict[str, Tenant] = {}
        self.fallen: Callable[[Tenant], None] = lambda tenant: None
        """Hears of each tenant whose start may have fallen."""
        self._shares = shares
        self._standing: dict[str, int] = {}
        self._ahead: list[tuple[int, str]] = []
        self._behind = 0

    def adopt(self, fairness: Fairness) -> None:
        """Takes turns as they were kept; the lanes must begin anew."""
        self.scale = lcm(fairness.scale, SCALE, *self._shares.values())
        grown = self.scale // fairness.scale
        self.virtual_time = fairness.virtual_time * grown
        self._standing = {name: start * grown for name, start in fairness.standing.items()}
        for name in fairness.tags.keys() | fairness.credits.keys():
            self.tenant(name)
        self._ahead, self._behind = [], 0
        for name, tenant in self.tenants.items():
            tenant.unit = self.scale // self._shares.get(name, 1)
            tenant.tag = fairness.tags.get(name, 0) * grown
            tenant.credit = fairness.credits.get(name, 0) * grown
            tenant.behind = False
            if tenant.waiting:
                self.begin(tenant)

    def forget_standing(self) -> None:
        """Nobody who has not come back by now is expected any more."""
        self._standing.clear()

    def tenant(self, name: str) -> Tenant:
        """The tenant of this name."""
        known = self.tenants.get(name)
        if known is None:
            known = Tenant(name, self.scale // self._shares.get(name, 1))
            self.tenants[name] = known
        return known

    def level(self, lane: Lane) -> int:
        """The start of a lane's Jobs whose tenants nothing else holds back or ahead."""
        if lane.gate.open and self.moves > lane.joined:
            return self.virtual_time
        return lane.level

    def start(self, tenant: Tenant) -> int:
        """The start of a tenant that waits."""
        start = tenant.tag if tenant.tag > tenant.floor else tenant.floor
        return start if start >= self.virtual_time else self._followed(tenant, start)

    def _followed(self, tenant: Tenant, start: int) -> int:
        """The start of a tenant that was here before virtual time last moved."""
        now = self.virtual_time
        for cell in tenant.cells.values():
            if start >= now:
                break
            lane = cell.lane
            follows = lane.gate.open and self.moves > lane.joined
            move = self.moves if follows else lane.move
            seated = cell.seat is None or move > cell.seat.joined
            if seated and move > cell.joined and move > tenant.joined:
                start = max(start, now if follows else lane.level)
        tenant.floor = start
        return start

    @property
    def least(self) -> int:
        """No tenant that waits has a start below this."""
        if self._behind:
            return 0
        while self._ahead:
            tag, name = self._ahead[0]
            known = self.tenants.get(name)
            if known is not None and known.waiting and known.tag == tag:
                return tag
            heappop(self._ahead)
        return 0

    def opened(self, lane: Lane) -> None:
        """Notes that a lane's Jobs may start again."""
        lane.joined = self.moves

    def shut(self, lane: Lane) -> None:
        """Notes that a lane's Jobs may not start any more."""
        if self.moves > lane.joined:
            lane.level, lane.move = self.virtual_time, self.moves
        lane.joined = NEVER

    def begin(self, tenant: Tenant) -> None:
        """Notes that the first Job of a tenant has come into line."""
        tenant.floor = self._standing.pop(tenant.name, self.virtual_time)
        tenant.join(self.moves)
        self._place(tenant)

    def leave(self, tenant: Tenant) -> None:
        """Notes that the last Job of a tenant has left the line."""
        self._place(tenant)

    def pin(self, tenant: Tenant) -> None:
        """Keeps a tenant's start from falling when one of its cells goes or is shut."""
        if tenant.waiting and tenant.tag < self.virtual_time:
            tenant.floor = self.start(tenant)

    def take(self, tenant: Tenant, charge: int) -> None:
        """A turn that costs its tenant this charge: its credit first, then its tag."""
        start = self.start(tenant)
        if start > self.virtual_time:
            self._move(start)
        cost = self._unpaid(tenant, charge) if tenant.credit else charge * tenant.unit
        tenant.tag = self.virtual_time + cost
        self._place(tenant)

    def debt(self, tenant: Tenant, charge: int) -> None:
        """More was used than charged: the credit goes first, then the tag rises."""
        base = self.start(tenant) if tenant.waiting else max(tenant.tag, self.virtual_time)
        unpaid = self._unpaid(tenant, charge)
        if unpaid:
            tenant.tag = base + unpaid
            self._place(tenant)

    def refund(self, tenant: Tenant, charge: int, *, credit: bool) -> None:
        """Less was used than charged: the tag falls, to virtual time at most.

        What is left is credit, if credit is given.
        """
        back = charge * tenant.unit
        fall = min(back, max(tenant.tag - self.virtual_time, 0))
        tenant.tag -= fall
        if credit:
            tenant.credit += back - fall
        if fall:
            self._place(tenant)
            self.fallen(tenant)

    def reshare(self, shares: Mapping[str, int]) -> int:
        """Takes new shares; returns what the scale has grown by, 1 if it need not grow."""
        grown = lcm(self.scale, *shares.values()) // self.scale
        self._shares = shares
        self.scale *= grown
        self.virtual_time *= grown
        for tenant in self.tenants.values():
            tenant.unit = self.scale // shares.get(tenant.name, 1)
            tenant.tag *= grown
            tenant.floor *= grown
            tenant.credit *= grown
        self._ahead = [(tag * grown, name) for tag, name in self._ahead]
        return grown

    def forget_idle(self, now: int) -> None:
        """Forgets the tenants of which nothing need be known at `now`.

        However many tenants somebody invents, only so many tags are kept; the lowest go first.
        """
        idle = [tenant for tenant in self.tenants.values() if tenant.idle]
        tags = sorted((t.tag, t.name) for t in idle if t.tag > self.virtual_time)
        for _, name in tags[: max(len(tags) - MOST_IDLE, 0)]:
            self.tenants[name].tag = 0
        for tenant in idle:
            if tenant.tag <= self.virtual_time and not tenant.seen_by_a_rate(now):
                del self.tenants[tenant.name]

    def value(self) -> Fairness:
        """All that must be kept of the turns."""
        now = self.virtual_time
        tenants = self.tenants.values()
        behind = {t.name: self.start(t) for t in tenants if t.behind}
        return Fairness(
            self.scale,
            now,
            {tenant.name: tenant.tag for tenant in tenants if tenant.tag > now},
            {name: start for name, start in behind.items() if start < now},
            {tenant.name: tenant.credit for tenant in tenants if tenant.credit},
        )

    def check(self) -> None:
        """Raises AssertionError if an invariant is broken."""
        waiting = [tenant for tenant in self.tenants.values() if tenant.waiting]
        behind = {t.name for t in waiting if t.tag <= self.virtual_time}
        assert behind == {t.name for t in self.tenants.values() if t.behind}
        assert len(behind) == self._behind
        ahead = set(self._ahead)
        assert all((t.tag, t.name) in ahead for t in waiting if t.name not in behind)

    def _unpaid(self, tenant: Tenant, charge: int) -> int:
        cost = charge * tenant.unit
        paid = min(cost, tenant.credit)
        tenant.credit -= paid
        return cost - paid

    def _move(self, to: int) -> None:
        self.virtual_time = to
        self.moves += 1
        while self._ahead and self._ahead[0][0] <= to:
            tag, name = heappop(self._ahead)
            tenant = self.tenants.get(name)
            if tenant is not None and tenant.tag == tag:
                self._place(tenant)

    def _place(self, tenant: Tenant) -> None:
        """Keeps the invariants after a change of a tenant's tag, line or of virtual time."""
        behind = tenant.waiting > 0 and tenant.tag <= self.virtual_time
        if behind is not tenant.behind:
            self._behind += 1 if behind else -1
            tenant.behind = behind
        if tenant.waiting and not behind:
            heappush(self._ahead, (tenant.tag, tenant.name))
            if len(self._ahead) > 4 * len(self.tenants) + 64:
                self._ahead = [
                    (t.tag, t.name) for t in self.tenants.values() if t.waiting and not t.behind
                ]
                heapify(self._ahead)
