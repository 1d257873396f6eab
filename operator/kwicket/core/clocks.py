"""Clocks of starts: virtual time for the field by turns, and none for the other (ranking.py)."""

from typing import Protocol

from kwicket.core.places import Lane, Tenant


class Clock(Protocol):
    """What moves starts up."""

    @property
    def virtual_time(self) -> int:
        """No start that a move has left behind is above this."""
        ...

    @property
    def moves(self) -> int:
        """How often virtual time has moved."""
        ...

    @property
    def least(self) -> int:
        """No tenant that waits has a start below this."""
        ...

    def start(self, tenant: Tenant) -> int:
        """The start of a tenant that waits."""
        ...

    def level(self, lane: Lane) -> int:
        """The least start of a lane's Jobs after virtual time last moved for them."""
        ...


class Timeless:
    """No starts: all entries have the same one, 0."""

    virtual_time = 0
    moves = 0
    least = 0

    def start(self, tenant: Tenant) -> int:
        """Always 0."""
        return 0

    def level(self, lane: Lane) -> int:
        """Always 0."""
        return 0
