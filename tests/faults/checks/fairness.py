"""I5: the bound of Start-time Fair Queuing, over restarts and failovers.

Between any two tenants that both have Jobs that wait, what each was granted for its share differs
by no more than one Job of each. Judged where one limit on Jobs is all that there is, so that
whoever waits is eligible, in the order of the commits, between grants that were given back: from
the grant on its tenant has its turn, and from when it is given back on has not had it.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations

from faults.checks.replay import Cluster, Intent, begins_anew, cluster_of, intents, left
from faults.decisions import Taken
from faults.options import Options
from faults.run import Record
from faults.shared.database import LAPSED
from faults.store import LEDGERS, Change


def fairness(record: Record) -> list[str]:
    """Judges each pair of tenants at each commit."""
    if not _plain(record.options):
        return []
    shares = dict(record.options.shares)
    pairs: dict[tuple[str, str], _Pair] = {}
    found = []
    for waiting, one in _served(record):
        if waiting is None or one is None:
            pairs.clear()
            continue
        for pair in [known for known in pairs if not waiting >= set(known)]:
            del pairs[pair]
        for pair in combinations(sorted(waiting), 2):
            found += pairs.setdefault(pair, _Pair(pair, shares)).served(one)
    return found


def _plain(options: Options) -> bool:
    special = options.pods or options.each or options.rate or options.lanes or options.time
    special = special or options.pools > 1
    return not special


class _Pair:
    """How far two tenants have come apart while both wait."""

    def __init__(self, names: tuple[str, str], shares: dict[str, int]) -> None:
        self._costs = {name: Fraction(1, shares.get(name, 1)) for name in names}
        self._first = names[0]
        self._apart = self._low = self._high = Fraction(0)

    def served(self, one: Intent) -> list[str]:
        """A tenant was granted a Job."""
        if one.tenant not in self._costs or one.redelivery:
            return []
        cost = self._costs[one.tenant]
        self._apart += cost if one.tenant == self._first else -cost
        self._low, self._high = min(self._low, self._apart), max(self._high, self._apart)
        if self._high - self._low <= sum(self._costs.values()):
            return []
        names = " and ".join(self._costs)
        return [f"{names} are {self._high - self._low} apart at token {one.token}"]


def _served(record: Record) -> list[tuple[set[str] | None, Intent | None]]:
    """Each grant with the tenants that waited for it; None where turns may begin anew."""
    taken = {
        (decision.process, grant.lease.token, _named(decision.process, grant.lease.uid)): decision
        for decision in record.decisions
        for grant in decision.decision.grants
    }
    never, lapses = _never_started(record), record.kind(LAPSED)
    anew = [
        change.version
        for change in record.kind(LEDGERS)
        if begins_anew(change) or _gives_back(change, never, lapses)
    ]
    served: list[tuple[set[str] | None, Intent | None]] = []
    for one in intents(record):
        if one.token in never or (anew and anew[0] <= one.change.version):
            anew = [version for version in anew if version > one.change.version]
            served.append((None, None))
        decision = taken.get((one.change.by, one.token, one.uid))
        if decision is not None and one.token not in never:
            served.append((_waiting(decision, one.token), one))
    return served


def _named(process: str, uid: str) -> str:
    """A submission as all clusters know it that a process has decided on."""
    cluster = cluster_of(process)
    return uid if "/" in uid or not cluster else f"{cluster}/{uid}"


def _waiting(taken: Taken, token: int) -> set[str]:
    """The tenants that had Jobs in line right before this grant of a decision."""
    lines = Counter(ticket.tenant for ticket in taken.tickets if not ticket.held)
    for grant in taken.decision.grants:
        if grant.lease.token < token:
            lines[grant.lease.tenant] -= 1
    return {tenant for tenant, count in lines.items() if count > 0}


def _gives_back(change: Change, never: set[int], lapses: list[Change]) -> bool:
    """Whether a grant leaves a page that had not started, or whose cluster had lapsed."""
    lapsed = {one.key[1] for one in lapses if one.version <= change.version}
    return any(token in never or cluster_of(uid) in lapsed for token, uid in left(change))


def _never_started(record: Record) -> set[int]:
    """The tokens of grants that were given back."""
    cluster = Cluster()
    grants = (cluster.apply(change) for change in record.changes)
    started = {grant.token for grant in grants if grant is not None}
    return {one.token for one in intents(record)} - started
