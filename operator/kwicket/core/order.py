"""The last tie-break of every order: names, with digits read as numbers."""

import re
from functools import lru_cache

_DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> str:
    """Text that sorts as the name does when its digits are read as numbers: `x-2` before `x-10`.

    A run of digits is led by its length, so that the longer number sorts later, and a number
    before any letter. Names that differ only in leading zeros are told apart by the names
    themselves. Two names have the same key only if they are the same.
    """
    namespace, slash, rest = name.rpartition("/")
    key = _run_lengths(rest)
    if slash:
        key = _of_namespace(namespace) + key
    return f"{key}\x00{name}" if "0" in name and _LEADING_ZERO.search(name) else key


@lru_cache(maxsize=4096)
def _of_namespace(namespace: str) -> str:
    return _run_lengths(namespace + "/")


def _run_lengths(text: str) -> str:
    parts = _DIGITS.split(text)
    for index in range(1, len(parts), 2):
        digits = parts[index].lstrip("0") or "0"
        size = len(digits)
        parts[index] = f"{chr(size)}{digits}" if size <= 40 else f"{chr(41)}{size:04}{digits}"
    return "".join(parts)


_LEADING_ZERO = re.compile(r"(?<![0-9])0[0-9]")
