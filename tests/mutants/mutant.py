"""One mutant: a line of the core, and the mistake that is made in it."""

import ast
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

CORE = Path("operator/kwicket/core")


class Kind(StrEnum):
    """Where a mistake is known from."""

    TURNS = "turns"
    """What Start-time Fair Queuing met in production."""
    ORDER = "order"
    """What a fast book gets wrong that a slow one does not."""
    SAFETY = "safety"
    """What a scheduler must never do, whatever happens to it."""
    WIDE = "wide"
    """What reservations are there to prevent."""
    TIME = "time"
    """What settlement is there to prevent."""
    SAFEGUARD = "safeguard"
    """What must not be left out when the rest of the world fails."""
    SHARED = "shared"
    """What must not be left out where clusters share a ledger."""


type _Function = ast.FunctionDef | ast.AsyncFunctionDef


class NotFoundError(Exception):
    """A mutant's text is not found exactly once in its function: say its place anew."""


class Mutant(Struct, frozen=True):
    """Replaces `text` by `edit` in the one line of a function that it stands in."""

    name: str
    mistake: str
    """What goes wrong, in a few words."""
    kind: Kind
    place: str
    """The function: `module.function`, or `module.Class.method`."""
    text: str
    edit: str
    room: Path = CORE
    """Where the module is, from the repository's root."""

    @property
    def path(self) -> Path:
        """The file, from the repository's root."""
        return self.room / f"{self.place.partition('.')[0]}.py"

    def number(self, root: Path) -> int:
        """The line's number, from 1; raises NotFoundError."""
        lines = self._source(root).splitlines()
        found = [n for n in self._lines(root) for _ in range(lines[n - 1].count(self.text))]
        if len(found) != 1:
            raise NotFoundError(
                f"mutant {self.name}: {self.place} has {self.text!r} {len(found)} times where"
                " once is meant; say in tests/mutants/population.py where it would be now."
            )
        return found[0]

    def mutated(self, root: Path) -> str:
        """The file's text with the mistake in it; raises NotFoundError."""
        index = self.number(root) - 1
        lines = self._source(root).splitlines(keepends=True)
        lines[index] = lines[index].replace(self.text, self.edit)
        return "".join(lines)

    def _lines(self, root: Path) -> Iterator[int]:
        """The numbers of the lines of its function; none if there is no such function."""
        for name, function in _functions(ast.parse(self._source(root)), self.path.stem):
            if name == self.place:
                yield from range(function.lineno, (function.end_lineno or 0) + 1)

    def _source(self, root: Path) -> str:
        path = root / self.path
        return path.read_text() if path.exists() else ""


def _functions(tree: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, _Function]]:
    """The functions and methods of a module by their names."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}.{node.name}")
        elif isinstance(node, _Function.__value__):
            yield f"{prefix}.{node.name}", node
