"""The book and the straightforward reference agree on every history, step by step.

The same Jobs in the same order, with the same tokens and charges; the same virtual time, tags,
standing starts, credits, reservations, open charges and means. CI runs 80 seeded histories of 60
steps here, and some that Hypothesis makes up; `python -m tests.fuzz` is for a night's budget.
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from kwicket.core import charges, turns
from support.histories import KINDS, History
from support.reference import Reference
from support.seeded import play

SEEDED = 80
STEPS = 60


class Drawn:
    """Dice that Hypothesis throws, so that it can make a history small."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def randrange(self, start: int, stop: int, /) -> int:
        """A whole number from `start` to `stop` - 1."""
        return self._data.draw(st.integers(start, stop - 1))


class Machine(RuleBasedStateMachine):
    """One pool."""

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.history = History(Drawn(data))

    @rule(kind=st.sampled_from(KINDS), data=st.data())
    def go_on(self, kind: str, data: st.DataObject) -> None:
        self.history.go_on(Drawn(data), kind)


def test_hypothesis_finds_no_history_that_differs() -> None:
    run_state_machine_as_test(
        Machine, settings=settings(max_examples=15, stateful_step_count=25, deadline=None)
    )


def test_eighty_seeded_histories_do_not_differ() -> None:
    for seed in range(SEEDED):
        play(seed, STEPS)


def test_histories_in_which_idle_tenants_are_forgotten_do_not_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The caps are 4096 tenants; here they are one."""
    monkeypatch.setattr(turns, "MOST_IDLE", 1)
    monkeypatch.setattr(charges, "MOST_MEANS", 1)
    monkeypatch.setattr(Reference, "most_means", 1)
    monkeypatch.setattr(Reference, "most_tags", 1)
    for seed in range(SEEDED, SEEDED + 20):
        play(seed, STEPS)
