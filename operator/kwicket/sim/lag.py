"""The lag of tenants: how far the work that was granted to each is from its turn.

Start-time Fair Queuing promises, of a tenant that waits and that no limit of its own keeps: what it
was granted over its share differs from the growth of virtual time by at most its greatest charge
over its share. Work is counted as the pool charges, in starts or in slot-milliseconds; of the
latter, those that the Jobs really took, so guesses may pass the bound until they are settled.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kwicket.core.pools import Charging, Pool
from kwicket.sim.run import Grant, Run
from kwicket.sim.shares import changes


class Lag(Struct, frozen=True):
    """Of one tenant, over its share: ahead of its turn is above 0, behind it below."""

    tenant: str
    points: tuple[tuple[int, float | None], ...]
    """Moments in milliseconds; None where it no longer waits, so that no line is drawn."""
    bound: float
    """How far it should be off at most, to either side."""


class _Turn(Struct):
    share: int
    waiting: int = 0
    begun: float = 0.0
    """Virtual time when it began to wait."""
    work: float = 0.0
    """Granted since then."""
    points: list[tuple[int, float | None]] = []
    longest: float = 0.0


def lags(run: Run, pool: str, tenants: Sequence[str]) -> list[Lag]:
    """The lag of these tenants in one pool while they waited; the run must have been watched."""
    declared = run.world.catalog.pools[pool]
    turns = {name: _Turn(declared.shares.get(name, 1)) for name in tenants}
    arrivals = [(change.at, change.tenant) for change in changes(run, pool) if change.jobs > 0]
    virtual, place = 0.0, 0
    for grant, moved in _watched(run, pool):
        while place < len(arrivals) and arrivals[place][0] <= grant.at:
            _begin(turns.get(arrivals[place][1]), virtual)
            place += 1
        virtual = moved
        turn = turns.get(grant.arrival.tenant)
        if turn is not None:
            _grant(turn, grant, virtual, declared)
    return [Lag(name, tuple(t.points), t.longest / t.share) for name, t in turns.items()]


def _watched(run: Run, pool: str) -> Iterator[tuple[Grant, float]]:
    pairs = zip(run.grants, run.virtual, strict=True)
    return ((grant, virtual) for grant, virtual in pairs if grant.pool == pool)


def _begin(turn: _Turn | None, virtual: float) -> None:
    if turn is None:
        return
    if not turn.waiting:
        turn.begun, turn.work = virtual, 0.0
    turn.waiting += 1


def _grant(turn: _Turn, grant: Grant, virtual: float, pool: Pool) -> None:
    cost = float(grant.arrival.work) if pool.charging is Charging.TIME else 1.0
    turn.longest = max(turn.longest, cost)
    turn.points.append((grant.at, turn.work / turn.share - (virtual - turn.begun)))
    turn.work += cost
    turn.points.append((grant.at, turn.work / turn.share - (virtual - turn.begun)))
    turn.waiting -= 1
    if not turn.waiting:
        turn.points.append((grant.at, None))
