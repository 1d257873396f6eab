"""The last tie-break of every order: names, with digits read as numbers."""

import re
from functools import lru_cache

_DIGITS = re.compile(r"([0-9]+)")

type NaturalKey = tuple[tuple[str | int, ...], str]


@lru_cache(maxsize=65_536)
def natural_key(name: str) -> NaturalKey:
    """A total order of names in which `x-2` stands before `x-10`.

    Names that differ only in leading zeros are told apart by the text itself.
    """
    parts = _DIGITS.split(name)
    return tuple(int(part) if index % 2 else part for index, part in enumerate(parts)), name
