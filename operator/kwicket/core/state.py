"""The state of a pool that must outlive the operator: what a Ledger keeps."""

from collections.abc import Iterable, Mapping
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.fairness import Fairness
from kwicket.core.leases import Lease
from kwicket.core.starts import Start

HIGHEST_TOKEN = 10**18 - 1


class Intent(Struct, frozen=True, gc=False):
    """A grant that was decided and is not yet seen on its Job."""

    lease: Lease
    at: int
    """When it was decided, in milliseconds since 1970."""
    cost: Fraction
    """What its tenant's tag was moved by; 0 for a redelivery."""


class State(Struct, frozen=True):
    """One version of a pool. `version` is the highest token ever given; it never falls."""

    version: int
    fairness: Fairness = Fairness()
    intents: tuple[Intent, ...] = ()
    starts: tuple[Start, ...] = ()
    starts_since: Mapping[str, int] = {}
    """For each rate limit by name: all starts later than this moment are kept."""
    last_grant: int = 0
    """The moment of the last decision that granted, in milliseconds since 1970."""

    def __post_init__(self) -> None:
        if not 1 <= self.version <= HIGHEST_TOKEN:
            raise ValueError(f"state: version {self.version} is outside 1..{HIGHEST_TOKEN}")

    def acknowledged(self, tokens: Iterable[int]) -> "State":
        """Without the intents that were seen on their Jobs."""
        seen = set(tokens)
        return replace(self, intents=tuple(i for i in self.intents if i.lease.token not in seen))

    def left(self, tenant: str) -> "State":
        """After the last waiting Job of a tenant went away without a grant."""
        return replace(self, fairness=self.fairness.without(tenant))

    def returned(self, intent: Intent) -> "State":
        """After a grant that never reached its Job: its charge and its start are given back."""
        if intent not in self.intents:
            return self
        start = Start(intent.at, intent.lease.tenant, intent.lease.lane)
        starts = list(self.starts)
        if start in starts:
            starts.remove(start)
        return replace(
            self,
            fairness=self.fairness.refunded(intent.lease.tenant, intent.cost),
            intents=tuple(i for i in self.intents if i != intent),
            starts=tuple(starts),
        )
