"""What holds in every history, whoever judges: limits, rates, tokens, and no room is wasted."""

import random
from collections.abc import Iterator
from itertools import pairwise

from kwicket.core.limits import Limit, Rate
from kwicket.core.state import Intent
from support.duel import Decide
from support.histories import KINDS, History, pick
from support.reference_slots import exceeded, tenant_counts

HISTORIES = 20
STEPS = 60
STEADY = [kind for kind in KINDS if kind not in {"relimit", "renumber", "occupy"}]
"""All but what may put more on a limit than it admits: an edit, or another leader's grant."""


def histories(kinds: list[str]) -> Iterator[History]:
    """Each history after each of its steps."""
    for seed in range(HISTORIES):
        dice = random.Random(seed)  # noqa: S311
        history = History(dice)
        for _ in range(STEPS):
            history.go_on(dice, pick(dice, kinds))
            yield history


def test_no_more_run_and_start_than_the_limits_admit() -> None:
    for history in histories(STEADY):
        assert exceeded(history.rules.limits, history.duel.book.leases()) == []
        for limit in history.rules.limits:
            if isinstance(limit.bound, Rate) and history.duel.granted:
                assert _started(limit, limit.bound.per, history) <= limit.bound.starts


def test_tokens_increase_over_restarts_too_and_no_room_is_wasted() -> None:
    """After a decision that could have done more, no Job is left that could take its turn, but
    for limits that a reservation closes."""
    for history in histories(KINDS):
        duel = history.duel
        tokens = [intent.lease.token for intent in duel.granted]
        assert all(one < other for one, other in pairwise(tokens))
        assert duel.book.version >= max(tokens, default=1)
        if history.steps and isinstance(history.steps[-1], Decide) and duel.drained:
            assert duel.judge.pool.closed or duel.judge.candidates(duel.judge.now) == []


def _started(limit: Limit, per: int, history: History) -> int:
    """How many starts were in the window of a rate when the last grant was made."""
    granted = history.duel.granted
    last: Intent = granted[-1]
    covered = [one for one in granted if limit.covers(one.lease.lane)]
    seen = [one for one in covered if tenant_counts(limit, one.lease, last.lease.tenant)]
    return sum(one.at > last.at - per for one in seen)
