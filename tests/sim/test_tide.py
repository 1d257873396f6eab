"""What is due: shared out by water filling, the same as tenant by tenant."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwicket.sim.tide import Tide

SHARES = {"alice": 1, "bob": 2, "carol": 5}


def due(demands: dict[str, int], running: int, shares: dict[str, int]) -> dict[str, Fraction]:
    """Weighted max-min by definition: raise the level until all that runs is given out."""
    left, open_ = Fraction(running), dict(demands)
    found: dict[str, Fraction] = {}
    while open_:
        level = left / sum(shares.get(name, 1) for name in open_)
        full = {n: d for n, d in open_.items() if d <= level * shares.get(n, 1)}
        if not full:
            return found | {name: level * shares.get(name, 1) for name in open_}
        for name, demand in full.items():
            found[name] = Fraction(demand)
            left -= demand
            del open_[name]
    return found


def test_what_one_does_not_ask_for_the_others_share() -> None:
    tide = Tide({})
    for tenant, waiting, running in (("alice", 20, 1), ("bob", 5, 3), ("carol", 0, 2)):
        tide.change(0, tenant, 1, waiting, running)
    tide.advance(10)
    assert tide.in_demand("carol").due == pytest.approx(20)
    assert tide.in_demand("alice").due == tide.in_demand("bob").due == pytest.approx(20)


def test_keshavs_example_of_max_min() -> None:
    """Capacity 10 and demands 2, 2.6, 4, 5 give 2, 2.6, 2.7, 2.7; here in tenths."""
    tide = Tide({})
    for tenant, demand, running in (("a", 20, 20), ("b", 26, 26), ("c", 40, 27), ("d", 50, 27)):
        tide.change(0, tenant, 1, demand - running, running)
    tide.advance(1)
    assert [tide.in_demand(t).due for t in "abcd"] == pytest.approx([20, 26, 27, 27])


def test_keshavs_example_with_weights() -> None:
    """Capacity 16, demands 4, 2, 10, 4, weights 2.5, 4, 0.5, 1 give 4, 2, 6, 4; weights doubled."""
    tide = Tide({"a": 5, "b": 8, "c": 1, "d": 2})
    for tenant, demand, running in (("a", 4, 4), ("b", 2, 2), ("c", 10, 6), ("d", 4, 4)):
        tide.change(0, tenant, 1, demand - running, running)
    tide.advance(1)
    assert [tide.in_demand(t).due for t in "abcd"] == pytest.approx([4, 2, 6, 4])


def test_in_line_counts_only_while_jobs_wait() -> None:
    tide = Tide({})
    tide.change(0, "alice", 1, 1, 0)
    tide.change(0, "bob", 0, 0, 1)
    tide.change(4, "alice", -1, -1, 1)
    tide.advance(10)
    alice = tide.in_line("alice")
    assert (alice.got, alice.due, alice.all) == pytest.approx((0, 2, 4))
    alice = tide.in_demand("alice")
    assert (alice.got, alice.due, alice.all) == pytest.approx((6, 8, 16))


def test_a_tenant_that_never_came_holds_nothing() -> None:
    assert Tide({}).in_demand("nobody").all == 0


steps = st.tuples(
    st.sampled_from([*SHARES, "dave"]), st.integers(0, 4), st.integers(0, 4), st.integers(0, 5)
)


@given(st.lists(steps, max_size=30))
def test_over_any_history_it_is_what_each_moment_adds_up_to(
    history: list[tuple[str, int, int, int]],
) -> None:
    tide, now = Tide(SHARES), 0
    waiting: dict[str, int] = {}
    running: dict[str, int] = {}
    expected: dict[str, Fraction] = {}
    got: dict[str, int] = {}
    for tenant, wait, run, passed in history:
        more = wait - waiting.get(tenant, 0), run - running.get(tenant, 0)
        tide.change(now, tenant, more[0], *more)
        waiting[tenant], running[tenant] = wait, run
        demands = {t: waiting[t] + running[t] for t in waiting if waiting[t] + running[t]}
        for name, slots in due(demands, sum(running.values()), SHARES).items():
            expected[name] = expected.get(name, Fraction(0)) + slots * passed
            got[name] = got.get(name, 0) + running[name] * passed
        now += passed
        tide.advance(now)
    for name, slots in expected.items():
        assert tide.in_demand(name).due == pytest.approx(float(slots))
        assert tide.in_demand(name).got == got[name]
