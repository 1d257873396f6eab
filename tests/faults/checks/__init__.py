"""The checkers: plain functions over a recorded history, one for each invariant of the design.

None of them knows what an operator believes; all of them read what was stored, in order.
"""

from collections.abc import Callable

from ..run import Record
from .capacity import capacity
from .convergence import convergence
from .explained import explained
from .fairness import fairness
from .leaks import leaks
from .lost import lost
from .single import single
from .stale import stale
from .tokens import tokens

CHECKS: tuple[tuple[str, Callable[[Record], list[str]]], ...] = (
    ("I1", capacity),
    ("I2", single),
    ("I3", tokens),
    ("I4", lost),
    ("I5", fairness),
    ("I6", leaks),
    ("I7", stale),
    ("I8", explained),
    ("I11", convergence),
)


def violations(record: Record) -> list[str]:
    """All that is wrong with a history; first of all, whatever died."""
    found = [f"failure: {text}" for text in record.failures]
    return found + [f"{name}: {text}" for name, check in CHECKS for text in check(record)]
