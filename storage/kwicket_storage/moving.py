"""Moving a pool from one ledger to another, with no operator of its cluster at work on it."""

from collections import Counter

from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.starts import Start
from kwicket.core.state import State
from kwicket.ports.backlog import elsewhere
from kwicket.ports.ledger import Conflict, Ledger, Page

ATTEMPTS = 5
"""How often a page that others write as well is tried to be written."""


class Left(Struct, frozen=True):
    """What is under way in another cluster, and stays where that cluster finds it."""

    cluster: str
    grants: int
    reservations: int


class Copied(Struct, frozen=True):
    """The pool's page was made as it is in the other ledger."""

    pool: str
    version: int
    left: tuple[Left, ...] = ()


class Raised(Struct, frozen=True):
    """The pool had a page: its turn stays, and its next token is above those of both."""

    pool: str
    version: int


class Absent(Struct, frozen=True):
    """The ledger that is copied from has no page of the pool."""

    pool: str


class Disturbed(Struct, frozen=True):
    """Somebody wrote the page meanwhile: an operator is at work."""

    pool: str


async def copied(
    pool: str, source: Ledger, target: Ledger, *, highest: int = 0, anew: bool = False
) -> Copied | Raised | Absent | Disturbed:
    """Copies a pool; nothing is taken from `source`. Copying again changes nothing.

    A pool that `target` has is one that another cluster brought there, or that was copied before:
    what was decided under it stands. With `anew` it is one that nobody went by since the pool was
    brought to `source`, and is replaced. The starts that rate limits count are those of both.
    Tokens go on above those of both, and above the `highest` that is known.

    Grants and reservations of other clusters stay in `source`, where those are: a slot that one of
    them has is held there, and a ledger of this cluster's own says nothing of it.

    Raises UnavailableError, or PageError.
    """
    page = await source.read(pool)
    if page is None:
        return Absent(pool)
    own, left = _own(page.state), _left(page.state)
    known = await target.read(pool)
    version = max(own.version, highest, known.state.version if known else 0)
    if known is None:
        written = await target.open(pool, replace(own, version=version))
    else:
        kept = own if anew else known.state
        starts = _both(own.starts, known.state.starts)
        written = await target.commit(known, replace(kept, version=version, starts=starts))
    match written:
        case Conflict():
            return Disturbed(pool)
        case Page():
            whole = known is None or anew
            return Copied(pool, version, left) if whole else Raised(pool, version)


async def withdrawn(pool: str, ledger: Ledger) -> None:
    """Takes what is under way here from a page with which other clusters go on.

    Best effort: who writes it so often that we never come first gives it back itself. Raises
    UnavailableError.
    """
    for _ in range(ATTEMPTS):
        page = await ledger.read(pool)
        if page is None or page.state == _others(page.state):
            return
        if isinstance(await ledger.commit(page, _others(page.state)), Page):
            return


def _own(state: State) -> State:
    """Without what is of other clusters."""
    return replace(
        state,
        intents=tuple(one for one in state.intents if not elsewhere(one.lease.uid)),
        reservations=tuple(one for one in state.reservations if not elsewhere(one.uid)),
    )


def _others(state: State) -> State:
    """Without what is of this cluster."""
    return replace(
        state,
        intents=tuple(one for one in state.intents if elsewhere(one.lease.uid)),
        reservations=tuple(one for one in state.reservations if elsewhere(one.uid)),
    )


def _left(state: State) -> tuple[Left, ...]:
    """By the cluster's name."""
    grants = Counter(_cluster(one.lease.uid) for one in state.intents)
    reservations = Counter(_cluster(one.uid) for one in state.reservations)
    names = sorted((grants.keys() | reservations.keys()) - {""})
    return tuple(Left(name, grants[name], reservations[name]) for name in names)


def _cluster(uid: str) -> str:
    """Of a submission; empty for one of our own."""
    return uid.partition("/")[0] if elsewhere(uid) else ""


def _both(some: tuple[Start, ...], others: tuple[Start, ...]) -> tuple[Start, ...]:
    """All starts of both; one that both have counts once, though several may be alike."""
    starts = (Counter(some) | Counter(others)).elements()
    return tuple(sorted(starts, key=lambda start: (start.at, start.tenant, start.lane)))
