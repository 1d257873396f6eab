"""The factors of the weighted sum that ranks waiting Jobs: turn, traits, age.

Here they are said and refused; scale.py adds them up, and a new one needs its term there.
"""

from msgspec import Struct

HIGHEST_WEIGHT = 1_000_000
LONGEST_AGE = 365 * 24 * 3_600_000


class FairShare(Struct, frozen=True, tag=True):
    """1 if it is the tenant's turn, else 0."""

    weight: int


class Trait(Struct, frozen=True, tag=True):
    """The value of the Job's trait `name`; 0 if absent."""

    name: str
    weight: int


class Age(Struct, frozen=True, tag=True):
    """Waited time over `full_after` (milliseconds), from 0 to 1."""

    weight: int
    full_after: int = 30 * 60_000


type Factor = FairShare | Trait | Age


class Priority(Struct, frozen=True):
    """The factors of a pool with their weights.

    Raises ValueError for a weight outside 0..1,000,000, a factor said twice, or an age that is
    full after less than a millisecond or more than a year.
    """

    factors: tuple[Factor, ...] = (FairShare(1),)

    def __post_init__(self) -> None:
        kinds = [f.name if isinstance(f, Trait) else type(f) for f in self.factors]
        if len(set(kinds)) != len(kinds):
            raise ValueError("priority: name each factor, and each trait, once")
        for factor in self.factors:
            if not 0 <= factor.weight <= HIGHEST_WEIGHT:
                raise ValueError(f"priority: a weight is 0 to {HIGHEST_WEIGHT}")
            if isinstance(factor, Age) and not 1 <= factor.full_after <= LONGEST_AGE:
                raise ValueError("priority: fullAfter is a millisecond to a year")
