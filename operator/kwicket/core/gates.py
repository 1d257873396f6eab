"""Gates: what the limits of one scope still admit, counted as grants and ends come.

A scope is the pool, a lane, a tenant in the pool or a tenant in a lane; all limits of one scope
hold together in one gate.
"""

from bisect import bisect_right
from typing import TYPE_CHECKING

from kwicket.core.caps import NO_CAP, Caps
from kwicket.core.limits import Bound, Closed, Jobs, Pods, Rate

if TYPE_CHECKING:
    from kwicket.core.places import Lane, Tenant

_NO_STAMPS: list[int] = []
"""Those of every gate without rates, as there may be one for each tenant in each lane."""


class Gate:
    """The counters of one scope. `open`: one more Job of one pod may pass.

    A reservation of the tenant that the gate counts is held back here for it (`held`, in pods, 0
    if there is none), so that the tenant's other Jobs leave it its room.
    """

    __slots__ = (
        "brim", "caps", "closed", "held", "jobs", "joined", "lane", "open", "parked", "pods",
        "reserved", "stamps", "swept", "tenant", "timer",
    )  # fmt: skip

    def __init__(
        self, caps: Caps, *, tenant: "Tenant | None" = None, lane: "Lane | None" = None
    ) -> None:
        self.limit(caps)
        self.tenant = tenant
        """The tenant that it counts alone; None for all together."""
        self.lane = lane
        """The lane that it counts; None for the whole pool."""
        self.jobs = 0
        self.pods = 0
        self.stamps: list[int] = [] if caps.rates else _NO_STAMPS
        """The starts that its rates still see, in order."""
        self.swept = 16
        """How many of them it may hold before it looks for those that are seen no more."""
        self.reserved = 0
        self.held = 0
        self.closed = False
        """Whether a reservation keeps everyone else out."""
        self.open = True
        self.joined = 0
        """Of a tenant's in a lane: the last move of virtual time before it opened (places.py)."""
        self.timer = 0
        """The moment for which it is known to open by time."""
        self.parked: dict[int, None] | None = None
        """The cells that were found behind it while it was shut, by number, in that order."""

    def limit(self, caps: Caps) -> None:
        """Takes caps; later ones have the same rates."""
        self.caps = caps
        self.brim = 0 if caps.rates or caps.pods < NO_CAP else caps.jobs
        """With fewer Jobs than this one that is open stays so; 0 if more than Jobs is counted."""

    def park(self, cell: int) -> None:
        """Notes the number of a cell that was found behind it."""
        if self.parked is None:
            self.parked = {}
        self.parked[cell] = None

    def admits(self, now: int) -> bool:
        """Whether a Job of one pod may pass at `now`, whatever `open` says."""
        return not self.closed and self._passes(1, now, self.reserved, self.held)

    def fits(self, width: int, now: int) -> bool:
        """Whether a Job of this width may pass at `now`, as far as the limits say."""
        return self._passes(width, now, self.reserved, self.held)

    def fits_reserved(self, width: int, now: int) -> bool:
        """Whether the reserved Job itself may pass: what is held back is held for it."""
        return self._passes(width, now, 0, 0)

    def _passes(self, width: int, now: int, reserved: int, held: int) -> bool:
        """Whether a Job of this width may pass while so much is held back for another."""
        caps = self.caps
        if self.jobs + reserved >= caps.jobs or self.pods + held + max(width, 1) > caps.pods:
            return False
        return not caps.rates or self.opens(now, reserved) <= now

    def used(self, bound: Bound, now: int) -> int:
        """How much of one of its limits is used at `now`."""
        match bound:
            case Jobs():
                return self.jobs + self.reserved
            case Pods():
                return self.pods + self.held
            case Rate(_, per):
                return len(self.stamps) - bisect_right(self.stamps, now - per) + self.reserved
            case Closed():
                return 0

    def opens(self, now: int, reserved: int = 0) -> int:
        """When its rates have room for one more start than `reserved`; `now` if they have it."""
        moment = now
        for starts, per in self.caps.rates:
            most = starts - reserved
            if most <= 0:
                return NO_CAP
            if len(self.stamps) >= most:
                moment = max(moment, self.stamps[-most] + per)
        return moment

    def stamp(self, at: int) -> None:
        """Counts a start; now and then drops those that no rate can see any more."""
        self.stamps.append(at)
        if len(self.stamps) > self.swept:
            del self.stamps[: bisect_right(self.stamps, at - self.longest)]
            self.swept = 2 * len(self.stamps) + 16

    @property
    def longest(self) -> int:
        """The longest window of its rates in milliseconds."""
        return max((per for _, per in self.caps.rates), default=0)

    def sees(self, now: int) -> bool:
        """Whether a rate still sees its last start at `now`."""
        return bool(self.stamps) and self.stamps[-1] + self.longest > now
