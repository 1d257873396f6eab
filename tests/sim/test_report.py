"""Reports: the figures of small runs, made by hand."""

import pytest

from kwicket.core.limits import Limit
from kwicket.core.pools import Lane, Pool
from kwicket.sim.arrivals import Arrival
from kwicket.sim.report import Report, TenantReport, grant_line, jain, plain, report_of
from kwicket.sim.run import run
from support.builders import jobs, pods
from support.simulation import arrival, flood, world


def report(history: list[Arrival], *declared: Pool | Lane | Limit) -> Report:
    return report_of(run(world(*declared), history))


def of(tenant: str, whole: Report) -> TenantReport:
    [found] = [one for one in whole.tenants if one.tenant == tenant]
    return found


def test_the_figures_of_two_tenants_on_one_slot() -> None:
    """alice runs 0-10 and 20-30, bob 10-20; alice has Jobs in line until 20, bob until 10."""
    whole = report([*flood("alice", 2), *flood("bob", 1)], jobs(1))
    alice, bob = of("alice", whole), of("bob", whole)
    assert (alice.jobs, alice.started, alice.mean, alice.longest) == (2, 2, 10.0, 20.0)
    assert (bob.mean, bob.p50, bob.p95, bob.slowdown) == (10.0, 10.0, 10.0, 2.0)
    assert (alice.got, bob.got) == (0.5, 0.0)
    assert (alice.due, bob.due) == pytest.approx((0.5, 0.5))
    assert (whole.makespan, whole.grants_per_second) == pytest.approx((30.0, 0.1))
    assert (whole.all.mean, whole.lighter_half.mean) == (10.0, 10.0)
    assert whole.jain == pytest.approx(1.0)


def test_share_got_is_share_due_where_turns_are_even() -> None:
    whole = report([*flood("alice", 100), *flood("bob", 100)], jobs(4))
    assert of("alice", whole).got == pytest.approx(0.5, abs=0.01)
    assert of("bob", whole).due == pytest.approx(0.5, abs=0.01)
    assert whole.jain == pytest.approx(1.0, abs=0.001)


def test_what_is_due_follows_shares() -> None:
    whole = report(
        [*flood("alice", 90), *flood("bob", 90)], Pool("pool", shares={"bob": 3}), jobs(4)
    )
    assert of("bob", whole).due == pytest.approx(0.75, abs=0.01)
    assert of("bob", whole).got == pytest.approx(0.75, abs=0.01)


def test_a_wide_job_counts_its_pods() -> None:
    """For 10 s alice runs 1 pod, and bob 3 while 3 more wait."""
    whole = report([*flood("alice", 1), *flood("bob", 2, width=3)], pods(4))
    assert (of("bob", whole).got, of("bob", whole).due) == pytest.approx((0.75, 0.75))


def test_the_makespan_begins_with_the_first_submission() -> None:
    assert report([arrival(at=50)]).makespan == 10.0
    assert report([]).makespan == 0.0
    assert report([]).grants_per_second == 0.0


def test_tenants_are_in_the_order_of_their_names_with_digits_as_numbers() -> None:
    history = [arrival(f"{t}-0", t) for t in ("user-10", "user-9", "alice")]
    assert [one.tenant for one in report(history).tenants] == ["alice", "user-9", "user-10"]


def test_jobs_that_never_start_are_counted() -> None:
    whole = report([*flood("alice", 3)], jobs(0))
    assert (whole.jobs, whole.started, of("alice", whole).started) == (3, 0, 0)
    assert of("alice", whole).jobs == 3


def test_a_job_set_aside_is_told_with_its_reason() -> None:
    found = run(world(pods(1)), [arrival("wide-0", width=2)])
    [aside] = plain(report_of(found), found)["setAside"]
    assert (aside["job"], aside["reason"]) == ("wide-0", "TooWide")
    assert "it can never start" in aside["why"]


def test_a_grant_is_told_in_seconds() -> None:
    rules = world(Lane("gpu", "pool"), jobs(1))
    history = [arrival("a-0", at=0.5, runs=1.25), arrival("b-0", "bob", at=1, lane="gpu")]
    assert [grant_line(grant) for grant in run(rules, history).grants] == [
        {"at": 0.5, "job": "a-0", "tenant": "alice", "lane": None, "token": 2, "waited": 0.0},
        {"at": 1.75, "job": "b-0", "tenant": "bob", "lane": "gpu", "token": 3, "waited": 0.75},
    ]


def test_jains_index() -> None:
    assert jain([1.0] * 20 + [0.0] * 80) == pytest.approx(0.2)
    assert jain([3.0, 3.0]) == 1.0
    assert jain([]) == jain([0.0]) == 1.0
