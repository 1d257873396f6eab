"""Start-time Fair Queuing as a value: what a ledger keeps of whose turn it is.

Virtual time and tags as in Goyal, Vin, Cheng (SIGCOMM 1996), section 2, with one addition: the
start of a tenant whose waiting Jobs are all blocked stands still while virtual time moves on.
Whole numbers throughout, in units of 1/scale; a tag is never compared as a float.
"""

from collections.abc import Mapping

from msgspec import Struct

SCALE = 232_792_560
"""The smallest number that every share up to 20 divides; larger shares make a pool's own larger."""


class Fairness(Struct, frozen=True):
    """Virtual time, the finish tags above it, the starts that stand below it, and credits.

    Everything else is forgotten: a tenant that is in no map starts at virtual time. Raises
    ValueError for a tag, a start or a credit that needs no keeping.
    """

    scale: int = SCALE
    virtual_time: int = 0
    tags: Mapping[str, int] = {}
    standing: Mapping[str, int] = {}
    credits: Mapping[str, int] = {}
    """What tenants have paid for and not used (`charge: Time`)."""

    def __post_init__(self) -> None:
        if self.scale < 1 or self.virtual_time < 0:
            raise ValueError("fairness: scale is 1 or more, virtual time 0 or more")
        if any(tag <= self.virtual_time for tag in self.tags.values()):
            raise ValueError("fairness: only tags above virtual time are kept")
        if any(not 0 <= start < self.virtual_time for start in self.standing.values()):
            raise ValueError("fairness: only starts below virtual time stand")
        if any(credit <= 0 for credit in self.credits.values()):
            raise ValueError("fairness: only a credit above 0 is kept")
