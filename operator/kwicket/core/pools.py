"""Pools and the lanes in them, as an administrator declares them."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from kwicket.core.leases import Terms
from kwicket.core.limits import Limit
from kwicket.core.priority import Priority
from kwicket.core.selectors import Selector

HIGHEST_SHARE = 1000
GO_ON_ABOVE = "kwicket.dev/go-on-above"
"""The annotation of a Pool by which an administrator says that tokens up to a number are used."""


class Charging(StrEnum):
    """What a grant costs its tenant."""

    STARTS = "Starts"
    TIME = "Time"


class Pool(Struct, frozen=True):
    """Named shared capacity. Raises ValueError for a share outside 1..1000."""

    name: str
    created: int = 0
    """Milliseconds since 1970; among several defaults the oldest wins."""
    default: bool = False
    namespaces: Selector = Selector()
    paused: bool = False
    priority: Priority = Priority()
    charging: Charging = Charging.STARTS
    shares: Mapping[str, int] = {}
    lease: Terms = Terms()
    above: int = 0
    """By an administrator's word, tokens up to this one may have been given: none is again."""
    fault: str | None = None
    """What this version does not understand of it; nothing is granted until it does."""

    def __post_init__(self) -> None:
        for tenant, share in self.shares.items():
            if not 1 <= share <= HIGHEST_SHARE:
                raise ValueError(f"pool {self.name}: the share of {tenant} is 1 to {HIGHEST_SHARE}")

    @property
    def closed(self) -> bool:
        """Whether nothing new is granted."""
        return self.paused or self.fault is not None

    def share(self, tenant: str) -> int:
        """How many turns the tenant gets where others get one."""
        return self.shares.get(tenant, 1)


class Shown(Struct, frozen=True):
    """What a Pool's status shows of its tokens. It never falls as long as the Pool is the same."""

    uid: str = ""
    """Of the Pool: one that was deleted and made again is another one."""
    token: int = 0
    """The highest version that its ledger is known to have had; 0 if it shows none."""


NOTHING = Shown()


class Lane(Struct, frozen=True):
    """A kind of work inside a pool."""

    name: str
    pool: str


class Rules(Struct, frozen=True):
    """All that decides inside one pool."""

    pool: Pool
    limits: tuple[Limit, ...] = ()

    def too_small(self, lane: str, width: int) -> Limit | None:
        """The limit under which a Job of this many pods could never start."""
        return next(
            (limit for limit in self.limits if limit.covers(lane) and limit.too_small_for(width)),
            None,
        )
