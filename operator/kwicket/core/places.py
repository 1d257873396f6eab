"""Places of a pool: its lanes, its tenants, and the cells in which a tenant's Jobs wait in a lane.

What each of them remembers of virtual time is explained in turns.py.
"""

from kwicket.core.caps import Caps
from kwicket.core.gates import Gate

NEVER = 1 << 62
"""A move of virtual time that does not come."""


class Lane:
    """A lane, or the pool itself for Jobs that name none."""

    __slots__ = ("each", "gate", "joined", "level", "move", "name", "number", "widest")

    def __init__(self, name: str, number: int, joined: int) -> None:
        self.name = name
        self.number = number
        self.gate = Gate(Caps())
        self.each: Caps | None = None
        """The limits for each tenant in it."""
        self.widest = 0
        """The widest Job that its limits could ever admit."""
        self.level = 0
        """Virtual time when it last moved while the lane was open."""
        self.move = 0
        """The number of that move."""
        self.joined = joined
        """The last move before it opened."""


class Cell:
    """The Jobs of one tenant in one lane with one width: all of them may start, or none."""

    __slots__ = ("barred", "jobs", "joined", "lane", "number", "parked", "seat", "tenant", "width")

    def __init__(self, number: int, tenant: "Tenant", lane: Lane, width: int) -> None:
        self.number = number
        self.tenant = tenant
        self.lane = lane
        self.width = width
        self.jobs = 0
        """How many Jobs wait in it."""
        self.seat: Gate | None = None
        """The gate of the limits for its tenant in its lane."""
        self.barred = False
        """Whether its width keeps it out: for good, or while its tenant has a reservation."""
        self.joined = NEVER
        """The last move of virtual time before its width let it start; NEVER while it does not."""
        self.parked = False
        """Whether its best Jobs are known to no field (field.py) since it was found shut."""

    def join(self, moves: int) -> None:
        """Follows virtual time from this move on, if its width lets it."""
        self.joined = NEVER if self.barred else moves

    def __lt__(self, other: "Cell") -> bool:
        return self.number < other.number

    @property
    def open(self) -> bool:
        """Whether nothing but its lane and the pool keeps its Jobs from starting."""
        if self.barred:
            return False
        gate = self.tenant.gate
        return (gate is None or gate.open) and (self.seat is None or self.seat.open)


class Tenant:
    """A tenant, as long as anything must be known of it."""

    __slots__ = (
        "behind", "cells", "credit", "floor", "free", "gate", "joined", "name", "paths", "running",
        "seats", "tag", "unit", "waiting",
    )  # fmt: skip

    def __init__(self, name: str, unit: int) -> None:
        self.name = name
        self.unit = unit
        """What a charge of 1 moves its tag by: scale over share."""
        self.tag = 0
        self.credit = 0
        self.floor = 0
        """The start that it has at least, as long as it waits."""
        self.joined = NEVER
        """The last move of virtual time before it could start, as far as it alone is limited."""
        self.behind = False
        """Whether it waits with a tag that virtual time has passed."""
        self.waiting = 0
        """How many of its Jobs are in line, held ones included."""
        self.free = 0
        """How many of them are not held."""
        self.running = 0
        """How many of its Jobs hold a slot."""
        self.gate: Gate | None = None
        """The gate of the limits for each tenant of the pool."""
        self.seats: dict[str, Gate] = {}
        """The same in each lane, by the lane's name."""
        self.paths: dict[str, tuple[Gate, ...]] = {}
        """All gates with limits that its Jobs must pass, by the lane's name (scopes.py)."""
        self.cells: dict[tuple[str, int], Cell] = {}
        """By lane and width; those in which Jobs wait."""

    def join(self, moves: int) -> None:
        """Follows virtual time from this move on, if its own gate is open."""
        shut = self.gate is not None and not self.gate.open
        self.joined = NEVER if shut else moves

    @property
    def idle(self) -> bool:
        """Whether it neither waits nor runs, and has nothing to lose but its tag."""
        return not (self.waiting or self.running or self.credit)

    def seen_by_a_rate(self, now: int) -> bool:
        """Whether one of its own gates may still see a start of it at `now`."""
        gates = [*self.seats.values(), *([self.gate] if self.gate else [])]
        return any(gate.sees(now) for gate in gates)
