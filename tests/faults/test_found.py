"""What the bench has found: histories that were bad once, each by its option set."""

import pytest

from faults.checks import violations
from faults.options import Fault, Options, Work
from faults.run import played

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


def with_works(options: Options, works: list[Work]) -> Options:
    """The same with these Jobs."""
    fields = {name: getattr(options, name) for name in Options.__struct_fields__}
    return Options(**(fields | {"works": tuple(works)}))
