"""Histories drawn from a seed, and what to do with one that the two sides do not agree on."""

import random
import signal
import traceback
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from kwicket.core.pools import Charging, Rules
from kwicket.core.priority import FairShare, Priority
from support.duel import Declare, Duel, Step
from support.histories import History

_patience = [0]


class Disagreement(Exception):
    """A history that the book and the reference do not agree on, or that breaks a rule."""

    def __init__(self, rules: Rules, steps: Sequence[Step], cause: str) -> None:
        told = "\n".join(f"  {_told(step)}" for step in steps)
        super().__init__(f"{_told(rules)}\n{told}\n{cause}")
        self.rules = rules
        self.steps = list(steps)


def watch(seconds: int) -> None:
    """From here on, a history that takes more of the processor than this is one that disagrees."""

    def give_up(number: int, frame: object) -> None:
        raise TimeoutError("an endless loop?")

    signal.signal(signal.SIGPROF, give_up)
    _patience.append(seconds)


def play(seed: int, steps: int) -> History:
    """The history of a seed. Raises Disagreement."""
    _wind_up()
    dice = random.Random(seed)  # noqa: S311
    history = History(dice)
    first = history.rules
    try:
        for _ in range(steps):
            history.go_on(dice)
    except Exception as error:
        raise Disagreement(
            first, history.steps, traceback.format_exc(limit=-2, chain=False)
        ) from error
    return history


def replay(rules: Rules, steps: Sequence[Step]) -> None:
    """The same steps once more. Raises Disagreement."""
    _wind_up()
    duel = Duel(rules)
    for number, step in enumerate(steps, start=1):
        try:
            duel.take(step)
        except Exception as error:
            cause = traceback.format_exc(limit=-2, chain=False)
            raise Disagreement(rules, steps[:number], cause) from error


def shrunk(found: Disagreement) -> Disagreement:
    """A history as short as leaving out steps and rules can make it, and that still disagrees."""
    size = len(found.steps)
    while size:
        for begin in range(0, len(found.steps), size):
            shorter = _still(found.rules, found.steps[:begin] + found.steps[begin + size :])
            if shorter is not None:
                found = shorter
                break
        else:
            size //= 2
    for simplify in SIMPLER:
        simpler = _still(simplify(found.rules), [_simpler(x, simplify) for x in found.steps])
        found = simpler or found
    return found


def _without_limit(rules: Rules, number: int) -> Rules:
    limits = tuple(limit for limit in rules.limits if limit.name != f"limit-{number}")
    return replace(rules, limits=limits)


def _with(rules: Rules, **fields: Any) -> Rules:
    return replace(rules, pool=replace(rules.pool, **fields))


SIMPLER: list[Callable[[Rules], Rules]] = [
    *(partial(_without_limit, number=number) for number in range(6)),
    partial(_with, shares={}),
    partial(_with, priority=Priority((FairShare(1),))),
    partial(_with, priority=Priority(())),
    partial(_with, charging=Charging.STARTS),
]
"""What may be left out of all rules of a history."""


def _simpler(step: Step, simplify: Callable[[Rules], Rules]) -> Step:
    return Declare(simplify(step.rules)) if isinstance(step, Declare) else step


def _still(rules: Rules, steps: Sequence[Step]) -> Disagreement | None:
    try:
        replay(rules, steps)
    except Disagreement as found:
        return found
    return None


def _wind_up() -> None:
    if _patience[-1]:
        signal.setitimer(signal.ITIMER_PROF, _patience[-1])


def _told(value: Any) -> str:
    """A value without what it is by default."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_told, value))})"
    if not isinstance(value, Struct):
        return str(value) if isinstance(value, Enum) else repr(value)
    said = [(field, getattr(value, field.name)) for field in fields(value)]
    told = (f"{field.name}={_told(x)}" for field, x in said if field.required or x != field.default)
    return f"{type(value).__name__}({', '.join(told)})"
