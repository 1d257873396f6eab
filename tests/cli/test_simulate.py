"""`kwicket simulate`: what it prints, what it refuses, and how it ends."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from kwicket.cli import main
from kwicket.cli.entries import SCENARIO as SCHEMA
from kwicket.cli.simulate import simulate as command
from support.scenarios import JOBS, LANE, LIMIT, POOL, SCENARIO, file_of
from support.simulation import day, swf_line

ROOT = Path(__file__).parents[2]
TIMED = POOL.replace("default: true", "default: true, fairness: {charge: Time}")


def simulate(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["simulate", *map(str, arguments)])


def figures(*arguments: object) -> dict[str, Any]:
    """What it prints as JSON, if it ends well."""
    result = simulate(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    loaded: dict[str, Any] = json.loads(result.stdout)
    return loaded


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO)
    return file


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A day of generated Jobs, with two lines that are none."""
    jobs = day(1, jobs=150)
    lines = ["; Version: 2.2"]
    for ident, job in enumerate(jobs):
        lines.append(swf_line(ident, job.at / 1000, job.runs / 1000, job.tenant.partition("-")[2]))
    lines[3] = swf_line(2, 0, -1, 5)
    lines[8] = "not a Job"
    file = tmp_path / "day.swf"
    file.write_text("\n".join(lines))
    return file


def test_every_grant_in_order_in_seconds(scenario: Path) -> None:
    assert figures(scenario)["grants"] == [
        {"at": 0.0, "job": "a-0", "tenant": "alice", "lane": None, "token": 2, "waited": 0.0},
        {"at": 10.0, "job": "c-0", "tenant": "carol", "lane": None, "token": 3, "waited": 9.0},
        {"at": 15.0, "job": "a-1", "tenant": "alice", "lane": None, "token": 4, "waited": 15.0},
        {"at": 25.0, "job": "a-2", "tenant": "alice", "lane": None, "token": 5, "waited": 25.0},
    ]


def test_the_figures_of_each_tenant_and_in_all(scenario: Path) -> None:
    found = figures(scenario)
    carol = next(one for one in found["tenants"] if one["tenant"] == "carol")
    assert (carol["jobs"], carol["mean"], carol["p95"], carol["longest"]) == (1, 9.0, 9.0, 9.0)
    assert (carol["slowdown"], carol["got"], carol["due"]) == (1.4, 0.0, pytest.approx(0.5))
    assert (found["makespan"], found["grantsPerSecond"]) == (35.0, pytest.approx(4 / 35))
    assert 0 < found["jain"] <= 1


def test_the_table_says_the_same_for_people(scenario: Path) -> None:
    lines = [line.split() for line in simulate(scenario).stdout.splitlines()]
    assert lines[0][:4] == ["TENANT", "RULES", "JOBS", "MEAN"]
    assert lines[2][:8] == ["carol", "scenario.yaml", "1", "9.0s", "9.0s", "9.0s", "9.0s", "1.40"]
    assert lines[5][:3] == ["scenario.yaml", "4", "4"]


def test_first_come_first_served_beside_it(scenario: Path) -> None:
    found = figures(scenario, "--against", "fifo")
    [other] = found["against"]
    assert other["name"] == "fifo"
    assert [grant["job"] for grant in other["grants"]] == ["a-0", "a-1", "a-2", "c-0"]
    rows = [
        line.split()[:2] for line in simulate(scenario, "--against", "fifo").stdout.splitlines()
    ]
    assert rows[1:5] == [
        ["alice", "scenario.yaml"],
        ["alice", "fifo"],
        ["carol", "scenario.yaml"],
        ["carol", "fifo"],
    ]


def test_other_rules_beside_it_whose_own_jobs_are_not_used(scenario: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(file_of(POOL, LANE, LIMIT.replace("jobs: 1", "jobs: 9"), JOBS))
    result = simulate(scenario, "--against", other, "--against", "fifo", "--json")
    found = json.loads(result.stdout)
    assert [one["name"] for one in found["against"]] == ["other.yaml", "fifo"]
    assert {grant["waited"] for grant in found["against"][0]["grants"]} == {0.0}
    assert "The Scenario in a file after --against is not used" in result.stderr


def test_every_problem_is_listed_and_counted_and_nothing_is_run(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(file_of(POOL.replace("default", "defualt"), LIMIT.replace("1}", "-1}"), JOBS))
    result = simulate(file)
    assert result.exit_code == 2
    assert result.stdout == ""
    first, second, last = result.stderr.splitlines()
    assert first.startswith(f"{file}:4: document 1: spec.defualt: unknown field; there are: ")
    assert second.startswith(f"{file}:9: document 2: spec.concurrency.jobs: -1 is outside 0..1000")
    assert last == "kwicket simulate: 2 problems, nothing was run"


def test_jobs_that_belong_nowhere_are_named_by_the_line_of_their_entry(tmp_path: Path) -> None:
    file = tmp_path / "lost.yaml"
    file.write_text(file_of(POOL, LANE, JOBS + "- {name: x, tenant: t, lane: slow}\n"))
    result = simulate(file)
    assert result.exit_code == 2
    assert (
        f"{file}:15: document 3: jobs[2]: under the rules of lost.yaml: there is no Lane slow"
        in (result.stderr)
    )


def test_jobs_must_have_a_place_under_the_other_rules_too(scenario: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        file_of(
            POOL.replace("default: true", "default: false"),
            POOL.replace("gpus}", "b}").replace("default: true", "default: false"),
        )
    )
    result = simulate(scenario, "--against", other)
    assert result.exit_code == 2
    assert "under the rules of other.yaml: it names neither pool nor lane" in result.stderr


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ((JOBS,), ":1: it declares no Pool"),
        ((POOL,), ":1: it has no Jobs: add a document kind: Scenario"),
        ((POOL, "kind: Scenario\njobs: []\n"), ":1: its Scenario has no Jobs"),
        (("",), ":1: it declares no Pool"),
    ],
)
def test_a_file_that_lacks_something_is_refused(
    tmp_path: Path, texts: tuple[str, ...], why: str
) -> None:
    file = tmp_path / "lacks.yaml"
    file.write_text(file_of(*texts))
    result = simulate(file)
    assert result.exit_code == 2
    assert f"{file}{why}" in result.stderr


def test_a_job_that_is_too_wide_is_told_and_the_others_run(tmp_path: Path) -> None:
    file = tmp_path / "wide.yaml"
    wide = "- {name: w, tenant: bob, count: 2, parallelism: 8}\n"
    file.write_text(file_of(POOL, LIMIT.replace("jobs: 1", "pods: 2"), JOBS + wide))
    found = figures(file)
    assert [left["job"] for left in found["setAside"]] == ["w-0", "w-1"]
    assert len(found["grants"]) == 4
    assert "wide.yaml: 2 Jobs set aside: it runs 8 pods at once" in simulate(file).stdout


def test_what_is_not_as_in_a_cluster_is_said(tmp_path: Path) -> None:
    file = tmp_path / "plain.yaml"
    file.write_text(
        file_of(POOL.replace("default: true", "namespaceSelector: {matchLabels: {a: b}}"), JOBS)
    )
    result = simulate(file)
    assert result.exit_code == 0
    assert "its namespaceSelector is not looked at" in result.stderr
    assert "takes the Jobs that name neither pool nor lane" in result.stderr


def test_a_trace_runs_by_its_users_and_its_bad_lines_are_told(trace: Path) -> None:
    result = simulate("--trace", trace, "--slots", 4, "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["started"] == found["jobs"] == 148
    assert {one["tenant"] for one in found["tenants"]} <= {str(n) for n in range(1, 13)}
    assert [bad["line"] for bad in found["badLines"]] == [4, 9]
    said = result.stderr.splitlines()
    assert said[0] == f"{trace}: 2 lines left out, which are no Jobs that can run"
    assert said[1] == f"{trace}: 1 left out: its run time (column 4) is unknown: line 4"
    assert said[2] == f"{trace}: 1 left out: has 3 columns, not 18: line 9"


def test_a_trace_runs_under_the_rules_of_a_file(trace: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(file_of(POOL, LIMIT))
    one_by_one = figures(rules, "--trace", trace)
    assert one_by_one["name"] == "rules.yaml"
    ends = [grant["at"] for grant in one_by_one["grants"]]
    assert len(set(ends)) == len(ends)
    wider = figures(rules, "--trace", trace, "--slots", 4)
    assert wider["makespan"] == one_by_one["makespan"]


def test_a_trace_needs_a_pool_that_takes_its_jobs(trace: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    no_default = POOL.replace("default: true", "default: false")
    rules.write_text(file_of(no_default, no_default.replace("gpus", "cpus")))
    result = simulate(rules, "--trace", trace)
    assert result.exit_code == 2
    assert (
        "its Jobs, under the rules of rules.yaml: it names neither pool nor lane" in result.stderr
    )


def test_files_of_one_name_are_told_apart_by_their_folders(scenario: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / scenario.name
    other.parent.mkdir()
    other.write_text(file_of(POOL, LIMIT))
    found = figures(scenario, "--against", other)
    assert [found["name"], found["against"][0]["name"]] == [str(scenario), str(other)]


def test_jobs_of_a_trace_and_of_a_scenario_are_not_mixed(trace: Path, scenario: Path) -> None:
    result = simulate(scenario, "--trace", trace)
    assert result.exit_code == 2
    assert f"{scenario}:16: document 4: kind: the Jobs are those of {trace}" in result.stderr


def test_a_trace_without_a_job_is_refused_with_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "empty.swf"
    file.write_text("; nothing\n1 2 3\n")
    result = simulate("--trace", file, "--slots", 4)
    assert result.exit_code == 2
    assert "has 3 columns, not 18: line 2" in result.stderr
    assert result.stderr.endswith("no line of it is a Job that can run\n")


def test_a_trace_is_compared_with_the_oracle_over_copies(trace: Path) -> None:
    arguments = ("--trace", trace, "--slots", 4, "--oracle", "--against", "fifo", "--copies", 3)
    found = figures(*arguments)
    assert found["copies"]["count"] == 3
    fifo, oracle = found["copies"]["ratios"]
    assert (fifo["against"], oracle["against"]) == ("fifo", "oracle")
    assert fifo["lighterHalf"] < 1
    assert oracle["lighterHalf"] <= 1.5
    assert found == figures(*arguments)
    last = simulate(*arguments).stdout.splitlines()[-1].split()
    assert last == ["oracle", *(f"{value:.3f}" for value in list(oracle.values())[1:])]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "say which Jobs: SCENARIO.yaml, or --trace FILE.swf --slots N"),
        (("SCENARIO", "--copies", 2), "--copies compares: add --against or --oracle"),
        (("SCENARIO", "--against", "lifo"), "--against lifo: there is no such file"),
        (("--trace", "SCENARIO"), "say how many Jobs of the trace run at once: --slots N"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_in_one_sentence(
    scenario: Path, arguments: tuple[str, ...], why: str
) -> None:
    result = simulate(*(scenario if word == "SCENARIO" else word for word in arguments))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"kwicket simulate: {why}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [("/no/such/file",), ("--slots", "-1"), ("--unknown",)])
def test_a_wrong_option_is_refused(arguments: tuple[str, ...]) -> None:
    assert simulate(*arguments).exit_code == 2


def test_without_a_terminal_there_is_no_bar(scenario: Path) -> None:
    assert simulate(scenario).stderr == ""


def test_pictures_are_drawn_and_are_the_same_each_time(scenario: Path, tmp_path: Path) -> None:
    pictures = []
    for name in ("one.svg", "two.svg"):
        assert simulate(scenario, "--plot", tmp_path / name).exit_code == 0
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] == pictures[1]
    assert ET.fromstring(pictures[0]).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314
    assert b"<!-- alice -->" in pictures[0]
    assert b"<!-- carol -->" in pictures[0]


def test_a_picture_that_cannot_be_written_is_said(scenario: Path, tmp_path: Path) -> None:
    result = simulate(scenario, "--plot", tmp_path / "none" / "out.svg")
    assert result.exit_code == 2
    assert result.stdout.startswith("TENANT")
    assert result.stderr.endswith("none/out.svg: No such file or directory\n")


def test_there_is_a_picture_of_nothing(tmp_path: Path) -> None:
    file = tmp_path / "paused.yaml"
    file.write_text(file_of(POOL.replace("true", "true, paused: true"), JOBS))
    assert simulate(file, "--plot", tmp_path / "out.svg").exit_code == 0
    assert (tmp_path / "out.svg").exists()


def test_without_matplotlib_it_says_how_to_get_it(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = simulate(scenario, "--plot", tmp_path / "out.svg")
    assert result.exit_code == 2
    way_out = "--plot needs matplotlib; install it with: pip install 'kwicket[plot]'"
    assert result.stderr == f"kwicket simulate: {way_out}\n"


def test_the_readme_names_every_option_and_every_field_of_an_entry() -> None:
    readme = (ROOT / "README.md").read_text()
    options = [option for one in command.params for option in one.opts if option[:2] == "--"]
    assert len(options) == 7
    assert [name for name in options if f"`{name}" not in readme] == []
    fields = SCHEMA["properties"]["jobs"]["items"]["properties"]
    assert [name for name in fields if f"`{name}" not in readme] == []


def test_on_a_terminal_a_bar_shows_how_far_it_is(scenario: Path) -> None:
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "kwicket", "simulate", str(scenario)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=its, timeout=30, check=True)  # noqa: S603
    os.close(its)
    told = os.read(ours, 65536)
    os.close(ours)
    assert b"Jobs started  [" in told
    assert b"100%" in told
    assert done.stdout.startswith(b"TENANT")


@pytest.mark.parametrize("file", sorted((ROOT / "docs" / "examples").glob("*.yaml")), ids=str)
def test_the_examples_run(file: Path) -> None:
    result = simulate(file, "--against", "fifo")
    assert (result.exit_code, result.stderr) == (0, "")
