"""What a shared ledger in memory keeps of one pool."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.leases import Lease
from kwicket.core.pools import NOTHING, Shown
from kwicket.core.state import State
from kwicket.core.tickets import Ticket
from kwicket.ports.backlog import Member, Remembered
from kwicket_storage.backlog import UNBROKEN


class KeptTicket(Struct):
    """One row of the line."""

    ticket: Ticket
    change: int
    gone: bool = False


class KeptGrant(Struct):
    """One grant, from its decision to its end."""

    cluster: str
    lease: Lease
    granted: float
    claimed: bool = False
    lapsed: bool = False
    started: bool = False
    ended: int | None = None
    change: int = 0

    def tell(self, lease: Lease, end: int | None, change: int) -> None:
        """Its cluster tells that it holds a slot, or has freed it."""
        self.lease, self.change = lease, change
        self.claimed = self.started = True
        self.lapsed = False
        self.ended = None if end is None else self.ended or end


class KeptMember(Struct):
    """A cluster that shares the pool."""

    identity: str
    teller: object
    """None: the cluster has moved away, and what still runs there keeps its slots."""
    rules: str
    seen: float
    alive: float
    since: float
    told: bool = False
    formerly: int | None = None
    """When its former process gave its last sign of life, in milliseconds since 1970."""
    shown: Shown = NOTHING
    doubt: int = 0

    def taken_over(self, teller: object, rules: str, now: float) -> "KeptMember":
        """The same with another process that tells of it."""
        told = self.told and self.teller is not None
        made = replace(self, teller=teller, rules=rules, seen=now, told=told)
        made.live(now)
        return made

    def live(self, now: float) -> None:
        """Gives a sign of life."""
        self.since = self.since if self.alive >= now - UNBROKEN else now
        self.alive = now


class Shelf(Struct):
    """All that is kept of one pool."""

    stamp: int = 0
    state: State | None = None
    change: int = 0
    highest: int = 0
    members: dict[str, KeptMember] = msgspec.field(default_factory=dict)
    tickets: dict[tuple[str, str], KeptTicket] = msgspec.field(default_factory=dict)
    """By cluster and UID."""
    grants: dict[tuple[str, int], KeptGrant] = msgspec.field(default_factory=dict)
    """By cluster and token."""

    def missing(self, cluster: str, now: float) -> float | None:
        """How long it was missing while another gave signs of life; None if none gives any.

        Or if it has moved away, or is none.
        """
        member = self.members.get(cluster)
        if member is None or member.teller is None:
            return None
        others = (one for name, one in self.members.items() if name != cluster)
        known = [now - one.since for one in others if one.alive > now - UNBROKEN]
        return min(now - member.alive, max(known)) if known else None

    def heard(self, cluster: str, now: float, late: float, *, here: bool) -> Member:
        """What is heard of a member, of which nothing counts as taken back before `late`."""
        one, missing = self.members[cluster], self.missing(cluster, now) or 0.0
        takes_up = self.takes_up(cluster, late)
        return Member(cluster, now - one.seen, one.rules, takes_up, here, missing)

    def remembered(self, cluster: str) -> Remembered:
        """What is known of a member's own past."""
        member, version = self.members[cluster], self.state.version if self.state else 0
        highest = max(self.highest, version, member.shown.token)
        return Remembered(member.shown, member.doubt, highest)

    def lapse(self, cluster: str, now: int) -> None:
        """Takes a member out, and ends all that waits and runs there."""
        del self.members[cluster]
        self.change += 1
        for (name, _), entry in self.tickets.items():
            if name == cluster and not entry.gone:
                entry.gone, entry.change = True, self.change
        for one in self.grants.values():
            if one.cluster == cluster and one.started and one.ended is None:
                one.ended, one.change, one.lapsed = now, self.change, True

    def overdue(self, one: KeptGrant, since: float) -> bool:
        """Whether whoever decides may give a grant back: not taken up since, or lapsed."""
        if one.started or one.ended is not None:
            return one.lapsed
        return (not one.claimed and one.granted < since) or one.cluster not in self.members

    def depart(self, key: tuple[str, str]) -> None:
        """Takes a submission out of the line."""
        entry = self.tickets.get(key)
        if entry is not None and not entry.gone:
            entry.gone, entry.change = True, self.change

    def leave(self, cluster: str) -> bool:
        """Takes a member out that runs nothing; whether it did."""
        grants = self.grants.values()
        live = [one for one in grants if one.cluster == cluster and one.ended is None]
        for one in live:
            one.claimed = one.started
        if any(one.started for one in live):
            return False
        del self.members[cluster]
        return True

    def retire(self, cluster: str) -> None:
        """Has a cluster that told all move away: what it took up may run, and holds a slot."""
        self.change += 1
        for (name, _), entry in self.tickets.items():
            if name == cluster and not entry.gone:
                entry.gone, entry.change = True, self.change
        grants = self.grants.values()
        live = [one for one in grants if one.cluster == cluster and one.ended is None]
        for one in live:
            if one.claimed and not one.started:
                one.started, one.change = True, self.change
        if any(one.started for one in live):
            self.members[cluster].teller, self.members[cluster].rules = None, ""
        else:
            del self.members[cluster]

    def takes_up(self, cluster: str, since: float) -> bool:
        """Whether nothing was taken back of a cluster, since then, that it had not taken up."""
        return not any(
            one.cluster == cluster and not one.claimed and (one.ended or 0) > since
            for one in self.grants.values()
        )
