"""Scenario files: read as kubectl and the operator read them, and every problem is named."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kwicket.cli.documents import Problem
from kwicket.cli.scenario import Scenario, read_scenario
from kwicket.core.limits import Count, Jobs, Limit, Rate
from kwicket.core.pools import Charging, Lane
from kwicket.core.priority import Age, FairShare, Priority, Trait
from support.scenarios import JOBS, LANE, LIMIT, POOL, SCENARIO, file_of

type Reading = Callable[..., Scenario]


@pytest.fixture
def read(tmp_path: Path) -> Reading:
    """Reads a file of these documents."""

    def reading(*texts: str) -> Scenario:
        file = tmp_path / "s.yaml"
        file.write_text(file_of(*texts))
        return read_scenario(file)

    return reading


def said(scenario: Scenario) -> list[str]:
    """The problems without the folder of the file."""
    return [
        str(problem).removeprefix(str(Path(scenario.file).parent) + "/")
        for problem in scenario.problems
    ]


def test_objects_are_what_the_operator_makes_of_them(read: Reading) -> None:
    pool = POOL.replace(
        "{default: true}",
        "{priority: [{factor: FairShare, weight: 3}, {factor: Age, weight: 1, fullAfter: 1h},"
        " {factor: Trait, weight: 2, trait: tier}],"
        " fairness: {charge: Time, shares: [{tenant: bob, share: 2}]}}",
    )
    rate = LIMIT.replace("name: one", "name: rate").replace(
        "pool: gpus, concurrency: {jobs: 1}",
        "lane: quick, count: EachTenant, rate: {starts: 3, per: 1m}",
    )
    found = read(pool, LANE, LIMIT, rate, JOBS)
    assert not found.problems
    made = found.catalog.pools["gpus"]
    assert made.priority == Priority((FairShare(3), Age(1, 3_600_000), Trait("tier", 2)))
    assert (made.charging, made.shares) == (Charging.TIME, {"bob": 2})
    assert found.catalog.lanes == {"quick": Lane("quick", "gpus")}
    assert set(found.catalog.rules("gpus").limits) == {
        Limit("one", Jobs(1)),
        Limit("rate", Rate(3, 60_000), "quick", Count.EACH_TENANT),
    }


def test_the_defaults_of_the_api_server_hold(read: Reading) -> None:
    pool = read(POOL.replace("spec: {default: true}\n", "spec: {priority: null}\n"), JOBS).catalog
    made = pool.pools["gpus"]
    assert (made.priority, made.charging, made.default) == (Priority(), Charging.STARTS, False)


def test_jobs_have_numbers_and_come_one_after_the_other(read: Reading) -> None:
    entry = "{name: x, tenant: bob, count: 3, at: 1m, every: 90s, runs: 1h30m, parallelism: 2,"
    entry += " pool: gpus, lane: quick, traits: {tier: 0.5, level: 1, urgent: '0.125'}}"
    arrivals = read(POOL, LANE, f"kind: Scenario\njobs: [{entry}]\n").arrivals()
    assert [(one.name, one.at) for one in arrivals] == [
        ("x-0", 60_000),
        ("x-1", 150_000),
        ("x-2", 240_000),
    ]
    [last] = arrivals[2:]
    assert (last.tenant, last.runs, last.width) == ("bob", 5_400_000, 2)
    assert (last.pool, last.lane) == ("gpus", "quick")
    assert last.traits == (("level", "1"), ("tier", "0.5"), ("urgent", "0.125"))


def test_an_entry_needs_a_name_and_a_tenant_only(read: Reading) -> None:
    [one] = read(POOL, "kind: Scenario\njobs: [{name: x, tenant: bob}]\n").arrivals()
    assert (one.name, one.at, one.runs, one.width) == ("x-0", 0, 10_000, 1)
    assert (one.pool, one.lane, one.traits) == (None, None, ())


def test_milliseconds_may_be_said(read: Reading) -> None:
    [one] = read(POOL, "kind: Scenario\njobs: [{name: x, tenant: b, runs: 25ms}]\n").arrivals()
    assert one.runs == 25


def test_jobs_come_in_order_of_time_whatever_the_order_of_their_entries(read: Reading) -> None:
    entries = "jobs: [{name: late, tenant: b, at: 5s}, {name: early, tenant: b}]"
    names = [one.name for one in read(POOL, f"kind: Scenario\n{entries}\n").arrivals()]
    assert names == ["early-0", "late-0"]


def test_what_kubectl_get_prints_may_be_read_back(read: Reading) -> None:
    stored = """
apiVersion: v1
kind: List
metadata: {resourceVersion: ""}
items:
- apiVersion: kwicket.dev/v1alpha1
  kind: Pool
  metadata: {name: gpus, uid: u, creationTimestamp: "2026-01-01T00:00:00Z", generation: 3}
  spec: {default: true}
  status: {waiting: 7}
"""
    found = read(stored, JOBS)
    assert said(found) == []
    assert found.catalog.pools["gpus"].created == 1_767_225_600_000


def test_the_default_is_the_oldest_and_one_without_a_date_is_young(read: Reading) -> None:
    old = POOL.replace("{name: gpus}", '{name: z, creationTimestamp: "2026-01-01T00:00:00Z"}')
    default = read(POOL, old, JOBS).catalog.default
    assert default is not None
    assert default.name == "z"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            POOL.replace("default: true", "defualt: true"),
            "s.yaml:4: document 1: spec.defualt: unkn",
        ),
        (
            POOL.replace("true", "maybe"),
            "s.yaml:4: document 1: spec.default: 'maybe' is not a bool",
        ),
        (POOL.replace("v1alpha1", "v1"), "s.yaml:1: document 1: apiVersion: write apiVersion: kwi"),
        (POOL.replace("gpus", "GPUs"), "s.yaml:3: document 1: metadata.name: write a name of at"),
        (POOL.replace("kind: Pool", "kind: Job"), "s.yaml:2: document 1: kind: 'Job' is none of"),
        (POOL.replace("kind: Pool\n", ""), "s.yaml:1: document 1: kind: None is none of Pool, La"),
        ("just text\n", "s.yaml:1: document 1: kind: None is none of Pool, Lane, Limit, Scenario"),
        ("[1, 2]\n", "s.yaml:1: document 1: kind: None is none of"),
        (POOL.replace("true", "true, lease: {duration: 1s}"), "s.yaml:4: document 1: spec.lease.d"),
        (
            POOL.replace("gpus}", "gpus, creationTimestamp: soon}"),
            "s.yaml:3: document 1: metadata.",
        ),
    ],
)
def test_a_bad_object_is_named_by_file_document_and_line(
    read: Reading, text: str, problem: str
) -> None:
    [found] = said(read(text))
    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{tenant: bob}", "jobs[0].name: is required"),
        ("{name: x}", "jobs[0].tenant: is required"),
        ("{name: x, tenant: bob, cuont: 2}", "jobs[0].cuont: unknown field; there are: at, count"),
        ("{name: x, tenant: bob, count: 0}", "jobs[0].count: 0 is outside 1..1000000"),
        ("{name: x, tenant: bob, count: 2.5}", "jobs[0].count: 2.5 is not an integer"),
        ("{name: x, tenant: bob, at: 10}", "jobs[0].at: 10 is not a string"),
        ("{name: x, tenant: bob, runs: 1.5h}", "jobs[0].runs: '1.5h' is no duration: write hours"),
        ("{name: x, tenant: bob, every: -1s}", "jobs[0].every: '-1s' is no duration"),
        ("{name: X y, tenant: bob}", "jobs[0].name: 'X y' can't be the name of a Job"),
        ("{name: x, tenant: ''}", "jobs[0].tenant: '' can't be the tenant of a Job"),
        ("{name: x, tenant: bob, traits: {tier: 1.5}}", "jobs[0].traits.tier: '1.5' is no number"),
        ("{name: x, tenant: bob, traits: {tier: 0.1234}}", "jobs[0].traits.tier: '0.1234' is no"),
        ("{name: x, tenant: bob, traits: {tier: yes}}", "jobs[0].traits.tier: 'True' is no numb"),
        ("{name: x, tenant: bob, parallelism: -1}", "jobs[0].parallelism: -1 is outside 0..2147"),
        ("x", "jobs[0]: 'x' is not an object"),
    ],
)
def test_a_bad_entry_is_named_by_its_line(read: Reading, entry: str, problem: str) -> None:
    [found] = said(read(POOL, f"kind: Scenario\njobs:\n- {entry}\n"))
    assert found.startswith(f"s.yaml:8: document 2: {problem}")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: Scenario\n", "jobs: is required"),
        ("kind: Scenario\njobs: {}\n", "jobs: {} is not an array"),
        ("kind: Scenario\njobs: []\nslots: 4\n", "slots: unknown field"),
        (
            "apiVersion: v1\nkind: Scenario\njobs: []\n",
            "apiVersion: 'v1' is none of kwicket.dev/v1a",
        ),
    ],
)
def test_a_bad_scenario_is_named(read: Reading, text: str, problem: str) -> None:
    [found] = said(read(POOL, text))
    assert found.split(": ", 2)[2].startswith(problem)


def test_all_problems_are_told_in_the_order_of_their_lines(read: Reading) -> None:
    found = read(
        POOL.replace("true", "5"), LIMIT.replace("jobs: 1", "jobs: -1, pods: 1"), JOBS + "- 7\n"
    )
    assert [problem.line for problem in found.problems] == sorted(p.line for p in found.problems)
    assert len(found.problems) == 3


def test_a_name_is_declared_once(read: Reading) -> None:
    assert said(read(POOL, POOL, JOBS)) == [
        "s.yaml:8: document 2: metadata.name: Pool gpus is declared before it"
    ]
    assert said(read(POOL, JOBS + "- {name: a, tenant: bob}\n")) == [
        "s.yaml:10: document 2: jobs[2].name: there is an entry a before it"
    ]
    [problem] = said(
        read(POOL, JOBS, JOBS.replace("name: a", "name: b").replace("name: c", "name: d"))
    )
    assert "a file has one Scenario, and this is another" in problem


def test_rules_that_would_hold_for_nothing_are_named(read: Reading) -> None:
    found = read(
        POOL, LANE.replace("pool: gpus", "pool: cpus"), LIMIT.replace("gpus", "tpus"), JOBS
    )
    assert said(found) == [
        "s.yaml:9: document 2: spec.pool: there is no Pool cpus in this file",
        "s.yaml:14: document 3: spec.pool: there is no Pool tpus in this file",
    ]
    lost = LIMIT.replace("pool: gpus", "lane: fast")
    assert said(read(POOL, lost, JOBS)) == [
        "s.yaml:9: document 2: spec.lane: there is no Lane fast in this file"
    ]


def test_a_file_that_is_no_yaml_is_one_problem_more(read: Reading) -> None:
    found = read(POOL.replace("true", "5"), "kind: [\n")
    assert [problem.line for problem in found.problems] == [4, 7]


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + SCENARIO.encode())
    assert read_scenario(file).problems == ()
    file.write_bytes(b"kind: \x00\n")
    [found] = read_scenario(file).problems
    assert isinstance(found, Problem)
