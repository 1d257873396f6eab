"""Histories of several clusters: some in every check, the same from the same seed, told whole."""

import pytest

from faults.batch import failure, shown
from faults.checks import violations
from faults.run import played
from faults.shared.options import Shared, drawn
from faults.test_histories import said


@pytest.mark.timeout(300)
def test_some_histories_hold() -> None:
    assert "12 histories" in said("--shared", "--seeds", "12", "--processes", "1")


@pytest.mark.parametrize("seed", [1, 3])
def test_a_seed_gives_the_same_history_again(seed: int) -> None:
    first, second = (played(drawn(seed)) for _ in range(2))
    assert [(c.at, c.key, c.by) for c in first.changes] == [
        (c.at, c.key, c.by) for c in second.changes
    ]
    assert len({c.key[0].partition("/")[0] for c in first.changes}) > 1


def test_a_seed_that_fails_is_told_whole_and_with_its_command() -> None:
    options = drawn(3)
    text = failure(options, ["I1: 2 of 1"])
    assert text.endswith("again: python -m tests.faults --shared --seed 3")
    assert all(f"  {name}:" in text for name in Shared.__struct_fields__ if name != "clusters")
    assert all(str(work) in text for own in options.clusters for work in own.works)
    assert all(f"  {name}:" in shown(options) for name in options.names)


def test_what_goes_wrong_is_all_drawn() -> None:
    faults = {fault.what for seed in range(300) for fault in drawn(seed).faults}
    assert faults >= {"cut", "slow", "lossy", "late", "rolled-back", "mute", "down", "read-only"}
    assert faults >= {"failover", "gone", "apart", "still"}


def test_a_calm_history_has_no_faults() -> None:
    options = next(one for one in map(drawn, range(50)) if one.harmed and one.faults)
    assert not options.calm().harmed
    assert violations(played(options.calm())) == []
