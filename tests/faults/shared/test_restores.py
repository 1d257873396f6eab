"""A cluster that is restored while it has no operator: what starts there, and when."""

import pytest

from faults.checks import violations
from faults.options import Fault, Options, Work
from faults.run import Record, played
from faults.shared.options import Shared, drawn
from faults.shared.restore import RESTORED
from faults.shared.test_found import alone, shared
from faults.store import JOBS

SEEDS = range(2)
BACKUP, SECONDS = 10.0, 100.0
BACK, WORD = BACKUP + 0.6 * SECONDS, BACKUP + SECONDS


def restored(seed: int, *works: Work) -> Shared:
    """The east goes back to before its second Job."""
    fault = Fault(BACKUP, SECONDS, RESTORED, "east")
    other = alone(seed, Work("j-0", "team-a", "zoe", 80, 5), Work("j-1", "team-a", "zoe", 90, 5))
    clusters: tuple[Options, ...] = (alone(seed, *works), other)
    return shared(seed, fault, clusters=clusters)


def starts(record: Record, cluster: str) -> list[float]:
    """When Jobs of a cluster were started."""
    return [
        change.at
        for change in record.kind(JOBS)
        if change.key[0].startswith(f"{cluster}/") and "/" in change.by
        if change.before is not None and change.after is not None
        if change.before.body["spec"]["suspend"] and not change.after.body["spec"]["suspend"]
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_starts_there_before_the_word_and_the_others_go_on(seed: int) -> None:
    first, second = (Work(f"j-{n}", "team-a", "bob", n, 15) for n in range(2))
    record = played(restored(seed, first, second))
    assert violations(record) == []
    east, west = starts(record, "east"), starts(record, "west")
    assert not [at for at in east if BACK <= at < WORD]
    assert [at for at in east if at >= WORD]
    assert [at for at in west if at < WORD]


@pytest.mark.parametrize("seed", SEEDS)
def test_where_nothing_was_granted_since_the_backup_nobody_need_say_anything(seed: int) -> None:
    done, later = Work("j-0", "team-a", "bob", 0, 2), Work("j-1", "team-a", "bob", 80, 5)
    record = played(restored(seed, done, later))
    assert violations(record) == []
    assert [at for at in starts(record, "east") if BACK <= at < WORD]


def test_some_seeds_have_one() -> None:
    named = [fault.what for seed in range(100) for fault in drawn(seed).faults]
    assert named.count(RESTORED) > 10
