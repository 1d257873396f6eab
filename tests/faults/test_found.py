"""What the bench has found: histories that were bad once, each by its option set."""

import pytest

from faults.checks import violations
from faults.options import Fault, Options, Work, drawn
from faults.run import play, played
from faults.store import JOBS

SEEDS = range(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_restart_knows_how_wide_the_jobs_are_that_run(seed: int) -> None:
    """Their pods were listed before them, and counted as one: six pods ran under a limit of four.

    Since pods were watched; found by seed 46 of the first draw.
    """
    wide = [Work(f"j-{n}", "team-a", tenant, 0, 20, 3, 3) for n, tenant in enumerate("abc")]
    restart = Fault(5, 1, "stop", "a")
    options = Options(seed, jobs=3, pods=4, elects=False, page=1, faults=(restart,))
    assert violations(played(with_works(options, wide))) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_refused_start_is_not_applied_after_its_slot_has_gone(seed: int) -> None:
    """It was sent, nobody answered, it was sent again and refused; then the first one arrived.

    Since grants are given back; found by thinking of what no seed had drawn together.
    """
    works = [Work("j-0", "team-a", "alice", 0.4, 30), Work("j-1", "team-a", "bob", 8, 30)]
    late, refused = Fault(0.3, 5, "late", "a", amount=1.8), Fault(10, 10, "refused", "j-0")
    options = Options(seed, jobs=1, elects=False, slow=0.005, faults=(late, refused))
    assert violations(played(with_works(options, works))) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_grant_that_somebody_else_gave_back_is_not_started_after_a_failure(seed: int) -> None:
    """Two operators that both lead: one gave a denied grant back, the other started it later.

    Since grants are given back; found by seed 30616.
    """
    works = [Work("j-0", "team-a", "alice", 0.4, 30), Work("j-1", "team-a", "bob", 2.1, 30)]
    refused = Fault(0.1, 1.9, "refused", "j-0")
    options = Options(seed, jobs=1, operators=2, elects=False, faults=(refused,))
    assert violations(played(with_works(options, works))) == []


@pytest.mark.parametrize("seed", [30616])
def test_a_ledger_that_was_written_while_jobs_were_listed_has_not_gone_back(seed: int) -> None:
    """A status showed a token that was above the page read before it: nothing more was granted.

    Since restores are noticed; found when seed 30616 was played again.
    """
    assert violations(played(drawn(seed))) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_a_history_ends_when_the_jobs_have_gone_that_are_deleted_when_they_are_over(
    seed: int,
) -> None:
    """One of two runs ended while a slow controller had still to remove a Job: no same end.

    Since Jobs are deleted when they are over; found by seed 570.
    """
    options = Options(seed, jobs=1, controller=20, ttl=True)
    record = played(with_works(options, [Work("j-0", "team-a", "alice", 0, 60)]))
    jobs = [change for change in record.kind(JOBS) if change.key[1] == "j-0"]
    assert jobs[-1].after is None
    assert violations(record) == []


@pytest.mark.parametrize("seed", [570])
def test_a_run_without_faults_ends_as_the_one_with_faults_does(seed: int) -> None:
    assert violations(play(drawn(seed))) == []


def with_works(options: Options, works: list[Work]) -> Options:
    """The same with these Jobs."""
    fields = {name: getattr(options, name) for name in Options.__struct_fields__}
    return Options(**(fields | {"works": tuple(works)}))


@pytest.mark.parametrize("seed", [800219])
def test_a_page_that_somebody_else_has_opened_is_newer_than_the_lists(seed: int) -> None:
    """It was read without another list: four grants that had left it again were not known of.

    Since one list serves a start; found when lists began to break off more often.
    """
    assert violations(played(drawn(seed))) == []
