"""The schema of the database, made by numbered files and never changed by hand.

A file `sql/migrations/NNNN_name.sql` is never edited once it was released. Its first line says the
major version of the schema it leads to: a change that code of the former major can't work with,
such as a column that is dropped, begins a new one. Code works with its own major and the former.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from msgspec import Struct

MAJOR = 1
"""The major version of the schema that this code was written for."""
ROLES = ("kwicket_owner", "kwicket_operator", "kwicket_worker")

_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_HEAD = re.compile(r"-- major (\d+): ")

type Connection = Any


class Migration(Struct, frozen=True):
    """One file."""

    number: int
    name: str
    major: int
    text: str

    @property
    def checksum(self) -> str:
        """SHA-256 of its text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


class Applied(Struct, frozen=True):
    """One row of kwicket.migrations."""

    number: int
    name: str
    major: int
    checksum: str


class SchemaError(Exception):
    """The database's schema is not one that this code can work with; says the way out."""


def migrations() -> tuple[Migration, ...]:
    """All, in their order. Raises ValueError if they are not numbered from 1 without a gap."""
    found = []
    for file in files("kwicket_storage").joinpath("sql", "migrations").iterdir():
        text, named = file.read_text(), _NAME.fullmatch(file.name)
        head = _HEAD.match(text)
        if named is None or head is None:
            raise ValueError(f"{file.name}: neither its name nor its first line may be otherwise")
        found.append(Migration(int(named[1]), named[2], int(head[1]), text))
    found.sort(key=lambda one: one.number)
    if [one.number for one in found] != list(range(1, len(found) + 1)):
        raise ValueError("migrations are numbered from 1 without a gap")
    return tuple(found)


def not_newer(major: int) -> None:
    """Raises SchemaError if a schema of this major version is one for newer code."""
    if major > MAJOR:
        raise SchemaError(
            f"the schema's major version is {major}, and this Kwicket knows {MAJOR}:"
            " install a newer Kwicket"
        )


def check(known: Sequence[Migration], applied: Iterable[Applied]) -> tuple[Migration, ...]:
    """The migrations still to be applied.

    Raises SchemaError if the database was made by other files than these, or by those of a newer
    major version.
    """
    rows = {one.number: one for one in applied}
    not_newer(max((one.major for one in rows.values()), default=MAJOR))
    for one in known:
        row = rows.get(one.number)
        if row is not None and row.checksum != one.checksum:
            raise SchemaError(
                f"migration {one.number} ({row.name}) was applied with another text: this database"
                " was made by a changed or unreleased Kwicket; restore it, or make it anew"
            )
    return tuple(one for one in known if one.number not in rows)
