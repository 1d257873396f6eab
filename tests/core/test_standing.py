"""The start of a blocked tenant stands still, so that its turn is there when its lane has room."""

from typing import Any

from msgspec.structs import replace

from kwicket.core.book import Book
from kwicket.core.fairness import Fairness
from kwicket.core.priority import Trait
from kwicket.core.state import State
from kwicket.core.tickets import Ticket
from support.builders import START, book, fairness, jobs, lease, priority, rules, ticket, tickets
from support.rounds import finish, grant, one_by_one

LANES = jobs(1, "gpu"), jobs(1, "cpu")


def gpu_order(pool: Book, grants: int, cpu_per_gpu: int = 10) -> list[str]:
    """The tenants that start in lane gpu, whose Jobs run ten times as long as those in cpu."""
    order: list[str] = []
    while len(order) < grants:
        finish(pool)
        order += [name.partition("-")[0] for name in grant(pool) if pool_lane(pool, name) == "gpu"]
        for _ in range(cpu_per_gpu):
            finish(pool, *[x.job.removeprefix("team/") for x in pool.leases() if x.lane == "cpu"])
            grant(pool)
    return order


def pool_lane(pool: Book, name: str) -> str:
    held = pool.lease(name)
    assert held is not None
    return held.lane


def test_a_turn_in_a_slow_lane_is_not_lost_to_a_busy_lane_beside_it() -> None:
    """alice 20 and carol 1 in gpu, mike busy in cpu: carol is second, not twelfth to last."""
    waiting = tickets("alice", 20, lane="gpu") + tickets("carol", 1, lane="gpu")
    waiting += tickets("mike", 500, lane="cpu")
    pool = book(*LANES, waiting=waiting)
    assert gpu_order(pool, 5) == ["alice", "carol", "alice", "alice", "alice"]


def test_two_floods_in_a_slow_lane_alternate() -> None:
    waiting = tickets("alice", 20, lane="gpu") + tickets("bob", 20, lane="gpu")
    waiting += tickets("mike", 500, lane="cpu")
    pool = book(*LANES, waiting=waiting)
    assert gpu_order(pool, 8) == ["alice", "bob"] * 4


def at(turns: Fairness, *waiting: Ticket, **fields: Any) -> Book:
    """A pool with turns as they stand and one open lane, `cpu`."""
    return book(jobs(0, "gpu"), waiting=waiting, state=State(1, turns), **fields)


def blocked(tenant: str) -> Ticket:
    """A Job in the closed lane."""
    return ticket(f"{tenant}-gpu", tenant, lane="gpu")


def free(tenant: str, **fields: Any) -> Ticket:
    """A Job in the open lane."""
    return ticket(f"{tenant}-cpu", tenant, lane="cpu", **fields)


def test_a_blocked_tenant_keeps_the_start_it_had() -> None:
    """bob's grant moves virtual time from 4 to 6: alice began at 5, and carol at 4."""
    pool = at(fairness(4, {"alice": 5, "bob": 6}), blocked("alice"), blocked("carol"), free("bob"))
    grant(pool)
    assert pool.snapshot().fairness == fairness(6, {"bob": 7}, {"alice": 5, "carol": 4})


def test_an_eligible_tenant_follows_virtual_time_up() -> None:
    """Standing at 1 and eligible, alice is passed by a Job that priority prefers: she is at 6."""
    urgent = free("bob", traits=(("urgent", 1000),))
    turns = fairness(4, {"bob": 6}, {"alice": 1})
    pool = at(turns, free("alice"), urgent, priority=priority(Trait("urgent", 1)))
    assert grant(pool, most=1) == ["bob-cpu"]
    assert pool.snapshot().fairness == fairness(6, {"bob": 7})
    assert grant(pool) == ["alice-cpu"]
    assert pool.snapshot().fairness == fairness(6, {"bob": 7, "alice": 7})


def test_a_tenant_with_one_job_that_may_start_follows_with_all_of_them() -> None:
    urgent = free("bob", traits=(("urgent", 1000),))
    pool = at(fairness(4, {"bob": 6}), blocked("alice"), free("alice"), urgent)
    pool.declare(rules(jobs(0, "gpu"), priority=priority(Trait("urgent", 1))))
    while pool.reordering:
        pool.reorder(9)
    assert grant(pool, most=1) == ["bob-cpu"]
    assert pool.snapshot().fairness == fairness(6, {"bob": 7})


def test_a_standing_start_waits_as_long_as_virtual_time_stands() -> None:
    pool = at(fairness(4, {}, {"alice": 1, "carol": 2}), free("alice"), free("carol"))
    grant(pool, most=1)
    assert pool.snapshot().fairness == fairness(4, {"alice": 5}, {"carol": 2})


def test_a_standing_start_gives_one_turn_of_advance_at_most() -> None:
    """After a hundred turns of mike's, alice has one at once, and then they alternate."""
    pool = book(*LANES, waiting=tickets("mike", 1000, lane="cpu"), running=[lease("g", lane="gpu")])
    for one in tickets("alice", 50, lane="gpu", submitted=START + 1):
        pool.submit(one)
    for _ in range(100):
        grant(pool)
        finish(pool, *[x.job.removeprefix("team/") for x in pool.leases() if x.lane == "cpu"])
    assert pool.snapshot().fairness.standing == {"alice": 0}
    pool.declare(rules(jobs(1)))
    finish(pool)
    assert one_by_one(pool, 6) == ["alice", "mike"] * 3


def test_a_held_job_keeps_its_tenants_place() -> None:
    """A hold blocks like a limit: the turn is there when the label goes."""
    pool = book(jobs(1), waiting=[*tickets("bob", 20), ticket("a-1", "alice", held=True)])
    for _ in range(5):
        assert [name.partition("-")[0] for name in grant(pool)] == ["bob"]
        finish(pool)
    assert pool.snapshot().fairness.standing == {"alice": 0}
    held = pool.ticket("a-1")
    assert held is not None
    pool.submit(replace(held, held=False))
    assert grant(pool) == ["a-1"]


def test_a_tenant_that_leaves_the_line_leaves_its_standing_start() -> None:
    """Else whoever submits a blocked Job and deletes it would have saved up a turn."""
    pool = at(fairness(9, {}, {"alice": 2, "bob": 3}), blocked("alice"), blocked("bob"))
    pool.submit(free("alice"))
    pool.forget("alice-gpu")
    assert pool.snapshot().fairness == fairness(9, {}, {"alice": 2, "bob": 3})
    pool.forget("alice-cpu")
    assert pool.snapshot().fairness == fairness(9, {}, {"bob": 3})


def test_the_last_redelivery_of_a_tenant_takes_its_standing_start_along() -> None:
    state = State(1, fairness(9, {}, {"alice": 2}))
    pool = book(waiting=[ticket("a-1", "alice", deliveries=1)], state=state)
    assert grant(pool) == ["a-1"]
    assert pool.snapshot().fairness == fairness(9)


def test_a_redelivery_leaves_the_turn_of_its_tenants_other_jobs_alone() -> None:
    state = State(1, fairness(9, {}, {"alice": 2}))
    waiting = [ticket("a-1", "alice", deliveries=1), ticket("a-2", "alice", held=True)]
    pool = book(waiting=waiting, state=state)
    assert grant(pool) == ["a-1"]
    assert pool.snapshot().fairness == fairness(9, {}, {"alice": 2})
