"""The decision, straightforward: every Job is looked at for every grant.

Written from the design, and not from the code that it checks. Slow, plain, and the judge.
"""

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from kwicket.core.limits import Closed, Count, Jobs, Limit, Pods, Rate
from kwicket.core.pools import Rules
from kwicket.core.priority import Age, FairShare, Trait
from kwicket.core.tickets import Ticket


class Reference:
    """A pool's line, slots, starts and turns, in lists."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.waiting: list[Ticket] = []
        self.running: list[Ticket] = []
        self.starts: list[tuple[int, Ticket]] = []
        self.virtual_time = Fraction(0)
        self.tags: dict[str, Fraction] = {}
        self.standing: dict[str, Fraction] = {}
        self.last_grant = 0

    def decide(self, now: int, most: int) -> list[Ticket]:
        """Grants up to `most` Jobs, one after the other."""
        now = max(now, self.last_grant)
        granted: list[Ticket] = []
        while len(granted) < most:
            eligible = [ticket for ticket in self.waiting if self.eligible(ticket, now)]
            if not eligible:
                break
            granted.append(self._grant(eligible, now))
            self.last_grant = now
        return granted

    def eligible(self, ticket: Ticket, now: int) -> bool:
        """Whether no pause, hold or limit blocks it."""
        if self.rules.pool.paused or ticket.held:
            return False
        return all(self._admits(limit, ticket, now) for limit in self.rules.limits)

    def leave(self, uid: str) -> None:
        """A Job has ended, or is gone."""
        [left] = [t for t in self.waiting + self.running if t.uid == uid]
        self.waiting = [ticket for ticket in self.waiting if ticket.uid != uid]
        self.running = [ticket for ticket in self.running if ticket.uid != uid]
        if left.tenant not in {ticket.tenant for ticket in self.waiting}:
            self.standing.pop(left.tenant, None)

    def _grant(self, eligible: list[Ticket], now: int) -> Ticket:
        starts = {ticket.tenant: self._start(ticket.tenant) for ticket in eligible}
        due = {tenant for tenant, start in starts.items() if start == min(starts.values())}
        best = min(eligible, key=lambda ticket: self._rank(ticket, ticket.tenant in due, now))
        self.waiting.remove(best)
        self.running.append(best)
        self.starts.append((now, best))
        if best.deliveries == 0:
            self._turn(best.tenant, set(starts))
        if best.tenant not in {ticket.tenant for ticket in self.waiting}:
            self.standing.pop(best.tenant, None)
        return best

    def _turn(self, tenant: str, eligible: set[str]) -> None:
        before = self.virtual_time
        blocked = {ticket.tenant for ticket in self.waiting} - eligible
        stand = {name: self._start(name) for name in blocked}
        self.virtual_time = max(before, self._start(tenant))
        if self.virtual_time > before:
            self.standing = {}
        self.standing |= {n: s for n, s in stand.items() if s < self.virtual_time}
        self.standing.pop(tenant, None)
        self.tags[tenant] = self.virtual_time + Fraction(1, self.rules.pool.shares.get(tenant, 1))

    def _start(self, tenant: str) -> Fraction:
        if tenant in self.standing:
            return self.standing[tenant]
        return max(self.virtual_time, self.tags.get(tenant, Fraction(0)))

    def _rank(self, ticket: Ticket, due: bool, now: int) -> tuple[Any, ...]:
        score = Fraction(0)
        for factor in self.rules.pool.priority.factors:
            match factor:
                case FairShare(weight):
                    score += weight * due
                case Trait(name, weight):
                    score += weight * Fraction(dict(ticket.traits).get(name, 0), 1000)
                case Age(weight, full_after):
                    waited = Fraction(now - ticket.submitted, full_after)
                    score += weight * min(max(waited, Fraction(0)), Fraction(1))
        return -score, ticket.submitted, _padded(ticket.job)

    def _admits(self, limit: Limit, ticket: Ticket, now: int) -> bool:
        if not _counts(limit, ticket, ticket.tenant):
            return True
        running = [t for t in self.running if _counts(limit, t, ticket.tenant)]
        match limit.bound:
            case Jobs(most):
                return len(running) < most
            case Pods(most):
                return most > 0 and sum(t.width for t in running) + ticket.width <= most
            case Rate(starts, per):
                counted = (t for at, t in self.starts if at > now - per)
                return sum(_counts(limit, t, ticket.tenant) for t in counted) < starts
            case Closed():
                return False


def exceeded(limits: Iterable[Limit], running: Iterable[Ticket]) -> list[str]:
    """The concurrency limits that these Jobs exceed."""
    running = list(running)
    broken = []
    for limit in limits:
        each = limit.count is Count.EACH_TENANT
        for tenant in {t.tenant for t in running} if each else {""}:
            counted = [t for t in running if _counts(limit, t, tenant)]
            match limit.bound:
                case Jobs(most) if len(counted) > most:
                    broken.append(limit.name)
                case Pods(most) if sum(t.width for t in counted) > most:
                    broken.append(limit.name)
    return broken


def _counts(limit: Limit, ticket: Ticket, tenant: str) -> bool:
    """Whether a Job counts in the limit as far as it concerns Jobs of `tenant`."""
    if limit.lane and limit.lane != ticket.lane:
        return False
    return limit.count is Count.TOGETHER or ticket.tenant == tenant


def _padded(name: str) -> tuple[str, str]:
    return re.sub(r"[0-9]+", lambda digits: digits[0].lstrip("0").zfill(300), name), name
