"""Heaps: the Jobs of one cell, with the best of each class on top (scale.py)."""

from kwicket.core.entries import Entry

type Heap = list[Entry]

EMPTY: Heap = []
"""That of every class of which a cell has had no Job yet; there may be a cell for each Job."""


class Heaps:
    """Those that gain by age, and those that do not. The dead lie in them until they surface."""

    __slots__ = ("ageing", "steady")

    def __init__(self) -> None:
        self.ageing: Heap = EMPTY
        self.steady: Heap = EMPTY

    def __len__(self) -> int:
        return len(self.ageing) + len(self.steady)

    def begin(self, *, ageing: bool) -> Heap:
        """A heap for the first Job of a class."""
        heap: Heap = []
        if ageing:
            self.ageing = heap
        else:
            self.steady = heap
        return heap


NONE = Heaps()
"""Those of every cell that has had no Job yet."""
