"""A fault: why nothing of a pool can be granted at the moment."""

from dataclasses import dataclass

from kwicket.core.reasons import Reason
from kwicket.ports.ledger import PageError


@dataclass(frozen=True, slots=True)
class Fault:
    """What stopped the turns; a pool in doubt whose ledger can't be read has the ledger's."""

    reason: Reason
    """`LEDGER_UNAVAILABLE`, or one that an administrator must end: `LEDGER_NOT_UNDERSTOOD`, by an
    upgrade, or `WENT_BACK`, by a word."""
    why: str
    """In words, with the way out."""

    @classmethod
    def of(cls, error: Exception) -> "Fault":
        """What became of the ledger."""
        if isinstance(error, PageError):
            return cls(Reason.LEDGER_NOT_UNDERSTOOD, str(error))
        return cls(Reason.LEDGER_UNAVAILABLE, str(error))

    @property
    def outdated(self) -> bool:
        """Whether it lasts until this operator is another version."""
        return self.reason is Reason.LEDGER_NOT_UNDERSTOOD
