"""How many bytes a waiting Job takes.

Counted is all that Python allocated since before the book was there and that still lives once it
has its line: tickets with their traits, the book's structures, the few Jobs that run. The strings
that only one Job has, `uid` and `job`, are told apart. The names of tenants, lanes and traits are
shared by the Jobs and hardly count.
"""

import gc
import tracemalloc
from sys import getsizeof

from msgspec import Struct

from .history import Kwicket, begun
from .loads import Load, Size


class Weight(Struct):
    """Bytes for each Job that waits."""

    built: float
    """When the slots have just been taken, without `ids`."""
    steady: float
    """After the steady loop, with what it left behind."""
    ids: float
    """The strings `uid` and `job`."""


def weigh(size: Size, steps: int) -> Weight:
    """Builds a book of this size and runs it for so many steps, with every allocation counted."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kwicket, history = begun(Load(size))
        history.fill()
        built, ids = _a_job(kwicket, before)
        for _ in range(steps):
            history.step()
        return Weight(built, _a_job(kwicket, before)[0], ids)
    finally:
        tracemalloc.stop()


def _a_job(kwicket: Kwicket, before: int) -> tuple[float, float]:
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0] - before
    ids = sum(getsizeof(t.uid) + getsizeof(t.job) for t in kwicket.book.tickets())
    waiting = kwicket.book.waiting
    return (kept - ids) / waiting, ids / waiting
