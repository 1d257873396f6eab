"""Tables that others have published, as far as an order of grants can express them.

What it can't express, and why:
- Slurm's classic fair-share example: usage decays there, and shares stand in a tree of accounts.
  Here turns count what is granted, and shares are flat.
- HTCondor's user priority that halves in a day, and 10 after steady use of 10 slots; KAI's
  normalised usage of 0.24 and its half-life of an hour: no past use is kept but what a tag holds.
- AWS Batch's reserve for shares that are idle (.5, .25, .125): no slot is kept for who may come.
- The odds that APF's shuffle sharding lets elephants squash a mouse: every tenant has a queue of
  its own, so there are no odds to compute.
- Dominant resource fairness over several resources: there are only slots. Its example comes out
  with shares set by hand from what one task of each user dominates.
"""

from collections import Counter

import pytest

from support.builders import START, book, jobs, tickets
from support.rounds import one_by_one, turn


def held(slots: int, demands: dict[str, int], shares: dict[str, int]) -> dict[str, int]:
    """How many of so many slots each tenant holds after one decision."""
    waiting = [one for tenant, count in demands.items() for one in tickets(tenant, count)]
    granted = turn(book(jobs(slots), waiting=waiting, shares=shares), most=slots + 1)
    return dict(Counter(one.lease.tenant for one in granted))


def test_temporal_weights_of_5_3_and_2_give_50_30_and_20_percent_of_dispatches() -> None:
    shares = {"premium": 5, "basic": 3, "free": 2}
    waiting = [one for tenant in shares for one in tickets(tenant, 50)]
    order = one_by_one(book(waiting=waiting, shares=shares), 100)
    assert Counter(order) == {"premium": 50, "basic": 30, "free": 20}
    for begin in range(0, 100, 10):
        assert Counter(order[begin : begin + 10]) == shares


def test_hatchet_groups_of_five_take_turns() -> None:
    """A x 5, B x 5, C x 5, enqueued group by group, run A, B, C, A, B, C, …"""
    waiting = tickets("a", 5) + tickets("b", 5, submitted=START + 1)
    waiting += tickets("c", 5, submitted=START + 2)
    assert one_by_one(book(waiting=waiting), 15) == ["a", "b", "c"] * 5


def test_htcondor_users_of_priority_5_10_and_20_get_4_to_2_to_1() -> None:
    """The smaller its effective user priority, the more a user gets: shares are 20 over it."""
    shares = {"five": 4, "ten": 2, "twenty": 1}
    waiting = [one for tenant in shares for one in tickets(tenant, 40)]
    order = one_by_one(book(waiting=waiting, shares=shares), 70)
    for begin in range(0, 70, 7):
        assert Counter(order[begin : begin + 7]) == shares


def test_keshav_max_min_fills_10_as_2_and_2_6_and_2_7_and_2_7() -> None:
    """Demands of 2, 2.6, 4 and 5, in tenths: slots are whole."""
    demands = {"a": 20, "b": 26, "c": 40, "d": 50}
    assert held(100, demands, {}) == {"a": 20, "b": 26, "c": 27, "d": 27}


def test_keshav_weighted_max_min_fills_16_as_4_and_2_and_6_and_4() -> None:
    """Demands of 4, 2, 10 and 4 with weights of 2.5, 4, 0.5 and 1, doubled: shares are whole."""
    demands = {"a": 4, "b": 2, "c": 10, "d": 4}
    shares = {"a": 5, "b": 8, "c": 1, "d": 2}
    assert held(16, demands, shares) == {"a": 4, "b": 2, "c": 6, "d": 4}


def test_drf_example_gives_the_tasks_of_a_and_b_in_the_order_of_the_paper() -> None:
    """9 CPUs and 18 GB; a task of A takes 1 and 4, one of B takes 3 and 1.

    It dominates memory with 4/18 and CPU with 3/9, so that their tasks cost 2 to 3. After B, A, A,
    B, A each has 2/3 of what it dominates, and the CPUs are gone.
    """
    waiting = tickets("b", 9, submitted=START) + tickets("a", 9, submitted=START + 1)
    granted = turn(book(jobs(5), waiting=waiting, shares={"a": 3, "b": 2}))
    assert [one.lease.tenant for one in granted] == ["b", "a", "a", "b", "a"]


@pytest.mark.parametrize(("slots", "index"), [(20, 0.2), (50, 0.5), (100, 1), (200, 1)])
def test_jain_index_of_20_of_100_is_a_fifth(slots: int, index: float) -> None:
    """Nobody gets a second slot before each of the 100 has one: k of n are served, so k/n."""
    tenants = {f"tenant-{number}": 3 for number in range(100)}
    parts = held(slots, tenants, {}).values()
    assert sum(parts) ** 2 / (100 * sum(part**2 for part in parts)) == pytest.approx(index)
