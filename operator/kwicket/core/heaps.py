"""Heaps: the Jobs of one cell, with the best of each class on top (scale.py)."""

from kwicket.core.entries import Entry

type Heap = list[Entry]


class Heaps:
    """Those that gain by age, and those that do not. The dead lie in them until they surface."""

    __slots__ = ("ageing", "steady")

    def __init__(self) -> None:
        self.ageing: Heap = []
        self.steady: Heap = []

    def __len__(self) -> int:
        return len(self.ageing) + len(self.steady)


NONE = Heaps()
"""Those of every cell that has had no Job yet."""
