"""Leases: the granted Jobs that hold a slot, and the terms on which a pool lets them."""

from enum import StrEnum

from msgspec import Struct

FIRST_PAUSE, LONGEST_PAUSE = 10, 600
"""Seconds that a Job rests after it was put back, doubling each time."""


class OnLapse(StrEnum):
    """What follows when a lease lapses."""

    REDELIVER = "Redeliver"
    HOLD = "Hold"


class Terms(Struct, frozen=True):
    """When a pool's leases lapse, in milliseconds, and what follows."""

    duration: int = 300_000
    """How long a lease outlives the last sign of life of the nodes of its pods."""
    start_within: int = 600_000
    """How long none of its pods may have started."""
    on_lapse: OnLapse = OnLapse.REDELIVER
    redeliveries: int = 5
    """How often a Job may be put back in line before it is parked."""


class Lease(Struct, frozen=True, gc=False):
    """A granted Job that has not ended, or the live pods that a vanished one left behind."""

    uid: str
    job: str
    tenant: str
    lane: str
    width: int
    token: int


def pause(deliveries: int) -> int:
    """How many seconds a Job that was started so often rests before its next start."""
    if deliveries < 1:
        return 0
    return min(FIRST_PAUSE << min(deliveries - 1, 10), LONGEST_PAUSE)
