"""The checkers: plain functions over a recorded history, one for each invariant of the design.

None of them knows what an operator believes; all of them read what was stored, in order.
"""

from collections.abc import Callable

from faults.checks.capacity import capacity
from faults.checks.convergence import convergence
from faults.checks.explained import explained
from faults.checks.fairness import fairness
from faults.checks.leaks import leaks
from faults.checks.lost import lost
from faults.checks.single import single
from faults.checks.stale import stale
from faults.checks.tokens import tokens
from faults.run import Record

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
