"""A fault: why nothing of a pool can be granted at the moment."""

from dataclasses import dataclass

from kwicket.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Fault:
    """What stopped the turns; a pool in doubt whose ledger can't be read has the ledger's."""

    reason: Reason
    """`LEDGER_UNAVAILABLE`, or `WENT_BACK`, which an administrator must end."""
    why: str
    """In words, with the way out."""
