"""Tickets: the Jobs that wait, as the decision sees them."""

import re

from msgspec import Struct

_TRAIT = re.compile(r"(0|1|0\.[0-9]{1,3}|1\.0{1,3})")


class Ticket(Struct, frozen=True, order=True, gc=False):
    """A Job in line. Two tickets are the same submission if their `uid` is the same."""

    uid: str
    job: str
    """`namespace/name`."""
    tenant: str
    submitted: int
    """Milliseconds since 1970, by the API server's clock."""
    lane: str = ""
    """The lane it waits in; empty for a Job that waits in the pool itself."""
    traits: tuple[tuple[str, int], ...] = ()
    """Names with values in thousandths, 0 to 1000."""
    width: int = 1
    """How many pods run at once, 0 or more."""
    held: bool = False
    deliveries: int = 0
    """How often it was granted before; a redelivery moves neither virtual time nor a tag."""

    def __post_init__(self) -> None:
        if self.width < 0 or self.deliveries < 0:
            raise ValueError(f"ticket {self.job}: width and deliveries are 0 or more")
        if any(not 0 <= value <= 1000 for _, value in self.traits):
            raise ValueError(f"ticket {self.job}: a trait is 0 to 1000 thousandths")

    @property
    def redelivery(self) -> bool:
        """Whether it was granted before."""
        return self.deliveries > 0


def trait_value(text: str) -> int | None:
    """The thousandths that a trait label says, or None if it is no number in 0..1.

    ASCII only, at most three decimals: `0`, `1`, `0.5`, `0.125`, `1.0`.
    """
    if not _TRAIT.fullmatch(text):
        return None
    whole, _, decimals = text.partition(".")
    return int(whole) * 1000 + int(decimals.ljust(3, "0") or "0")
