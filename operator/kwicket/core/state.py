"""The state of a pool that must outlive the operator: what a Ledger keeps."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.fairness import Fairness
from kwicket.core.leases import Lease
from kwicket.core.pools import Charging
from kwicket.core.starts import Start
from kwicket.core.tickets import Ticket

HIGHEST_TOKEN = 10**18 - 1


class Intent(Struct, frozen=True, gc=False):
    """A grant that was decided and is not yet seen on its Job."""

    lease: Lease
    at: int
    """When it was decided, in milliseconds since 1970."""
    charge: int
    """What its tenant was charged: 1 under `Starts`, slot-milliseconds under `Time`; 0 for a
    redelivery."""


class Reservation(Struct, frozen=True, gc=False):
    """A wide Job whose turn has come, and which starts as soon as it has room."""

    uid: str
    job: str
    tenant: str
    lane: str
    width: int
    at: int
    """When it took its turn, in milliseconds since 1970."""
    charge: int
    """As an Intent's."""
    kept: int | None = None
    """Since when room is kept for it in a limit that all tenants share; None while it is not."""

    def still_of(self, ticket: Ticket) -> bool:
        """Whether a Job still is what was reserved, and may start."""
        same = self.tenant == ticket.tenant and self.lane == ticket.lane
        return same and self.width == ticket.width and not ticket.held


class Charge(Struct, frozen=True, gc=False):
    """What a running Job has been charged under `charge: Time` and is not yet settled."""

    token: int
    tenant: str
    slots: int
    since: int
    """When it was granted, in milliseconds since 1970."""
    amount: int
    """In slot-milliseconds; 0 for a redelivery."""

    @property
    def due(self) -> int | None:
        """When it has run for as long as it was charged for; None if that never comes."""
        if not self.amount or not self.slots:
            return None
        return self.since + self.amount // self.slots


class State(Struct, frozen=True):
    """One version of a pool. `version` is the highest token ever given; it never falls."""

    version: int
    fairness: Fairness = Fairness()
    charging: Charging = Charging.STARTS
    """What the tags count; a pool that changes it starts its turns anew."""
    intents: tuple[Intent, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    """Oldest first."""
    charges: tuple[Charge, ...] = ()
    means: Mapping[str, int] = {}
    """The mean run time of each tenant's Jobs in milliseconds, the last one learned at the end."""
    starts: tuple[Start, ...] = ()
    starts_since: Mapping[str, int] = {}
    """For each rate limit by name: all starts later than this moment are kept."""
    last_grant: int = 0
    """The moment of the last decision that granted or reserved, in milliseconds since 1970."""

    def __post_init__(self) -> None:
        if not 1 <= self.version <= HIGHEST_TOKEN:
            raise ValueError(f"state: version {self.version} is outside 1..{HIGHEST_TOKEN}")
        if len({one.tenant for one in self.reservations}) < len(self.reservations):
            raise ValueError("state: a tenant has one reservation at most")


def restarted(state: State, charging: Charging) -> State:
    """The state, with turns begun anew if they were counted in another unit."""
    if state.charging is charging:
        return state
    return replace(
        state,
        charging=charging,
        fairness=Fairness(state.fairness.scale, state.fairness.virtual_time),
        intents=tuple(replace(intent, charge=0) for intent in state.intents),
        reservations=tuple(replace(one, charge=0) for one in state.reservations),
        charges=(),
    )
