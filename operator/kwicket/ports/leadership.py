"""Leadership: which of several replicas works, and which follow."""

from typing import Protocol


class Leadership(Protocol):
    """It only saves replicas from doing the same work twice: what keeps limits and tokens safe is
    the ledger's compare-and-swap, which holds without any leader.
    """

    def leads(self) -> bool:
        """Whether this replica leads at this very moment, by its own monotonic clock."""
        ...

    async def gained(self) -> None:
        """Returns once this replica leads."""
        ...

    async def lost(self) -> None:
        """Returns once this replica leads no more."""
        ...
