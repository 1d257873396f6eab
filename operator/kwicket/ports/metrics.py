"""Metrics: what the engine tells whoever counts. No decision depends on it.

Nothing that a tenant can name is told, so that nobody can make a metric grow: pools and lanes are
an administrator's, all else is a number or from a closed list.
"""

from enum import StrEnum
from typing import Protocol


class Write(StrEnum):
    """What became of a write of the ledger."""

    WRITTEN = "written"
    CONFLICT = "conflict"
    """Somebody else had written; the pool is read again."""
    UNANSWERED = "unanswered"
    """Whether it was applied is unknown until the pool is read again."""


class Metrics(Protocol):
    """Called by the event loop's thread, and never awaited."""

    def granted(self, pool: str, lane: str, waited: float | None) -> None:
        """The ledger has a new grant; `waited` in seconds, None for a Job that is put back."""
        ...

    def given_back(self, pool: str) -> None:
        """A grant never reached its Job, and is undone."""
        ...

    def decided(self, seconds: float) -> None:
        """A decision took so long, whatever it granted."""
        ...

    def committed(self, pool: str, outcome: Write, seconds: float) -> None:
        """A write of the ledger took so long."""
        ...

    def corrected(self, pool: str, number: int) -> None:
        """So many figures or places of a pool's book were wrong, and are set right."""
        ...

    def stopped(self) -> None:
        """A Job that ran without a grant was suspended."""
        ...
