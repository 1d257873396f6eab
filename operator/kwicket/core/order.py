"""The last tie-break of every order: names, with digits read as numbers."""

import re
from functools import lru_cache

_DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> str:
    """Text that sorts as the name does when its digits are read as numbers: `x-2` before `x-10`.

    A run of digits is led by its length, so that the longer number sorts later, and a number
    before any letter. Names that differ only in leading zeros are told apart by how many these
    are. Two names have the same key only if they are the same.
    """
    namespace, slash, rest = name.rpartition("/")
    key, zeros = _numbered(rest)
    if not slash:
        return f"{key}\x00{zeros}" if zeros else key
    before, more = _of_namespace(namespace)
    return f"{before}/{key}\x00{more}/{zeros}" if zeros or more else f"{before}/{key}"


@lru_cache(maxsize=4096)
def _of_namespace(namespace: str) -> tuple[str, str]:
    return _numbered(namespace)


def _numbered(text: str) -> tuple[str, str]:
    """The text with its numbers led by their lengths; and the leading zeros of each, if any."""
    parts = _DIGITS.split(text)
    zeros = ""
    for index in range(1, len(parts), 2):
        digits = parts[index]
        if digits[0] == "0" and len(digits) > 1:
            bare = digits.lstrip("0") or "0"
            zeros += f"{index}.{len(digits) - len(bare)}."
            digits = bare
        size = len(digits)
        parts[index] = f"{chr(size)}{digits}" if size <= 40 else f"{chr(41)}{size:04}{digits}"
    return "".join(parts), zeros
