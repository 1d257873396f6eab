"""Traces: what is a Job is read, what is none is named with its line."""

import pytest

from kwicket.sim.arrivals import Arrival
from kwicket.sim.trace import BadLine, read_trace
from support.simulation import swf_line


def test_a_line_is_a_job_of_its_user_and_takes_one_slot() -> None:
    trace = read_trace(["; Version: 2.2", "", swf_line(7, 0, 90, 12)])
    assert trace.arrivals == (Arrival("7", "12", at=0, runs=90_000),)
    assert trace.bad == ()


def test_time_begins_with_the_first_job_wherever_it_stands() -> None:
    lines = [swf_line(1, 1356998549, 1, 1), swf_line(0, 1356996147, 1, 1)]
    assert [(a.name, a.at) for a in read_trace(lines).arrivals] == [("0", 0), ("1", 2_402_000)]


def test_jobs_of_one_moment_stay_as_they_stand() -> None:
    lines = [swf_line(ident, 5, 1, 1) for ident in (3, 1, 2)]
    assert [a.name for a in read_trace(lines).arrivals] == ["3", "1", "2"]


def test_columns_after_the_eighteenth_are_not_looked_at() -> None:
    line = swf_line(1, 0, 5, 2) + " {1241,1241} q_1d 1:ppn=64:x86_64#excl"
    assert len(read_trace([line]).arrivals) == 1


def test_parts_of_a_second_are_kept() -> None:
    [job] = read_trace([swf_line(1, 0, "182.97", 1)]).arrivals
    assert job.runs == 182_970


def test_a_job_whose_user_is_unknown_belongs_to_one_tenant_of_that_name() -> None:
    lines = [swf_line(1, 0, 1, -1), swf_line(2, 0, 1, -1)]
    assert {a.tenant for a in read_trace(lines).arrivals} == {"unknown"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("1 2 3", "has 3 columns, not 18"),
        (swf_line("x", 0, 1, 1), "its id (column 1) is no number"),
        (swf_line(1, -1, 1, 1), "its submit time (column 2) is unknown"),
        (swf_line(1, "soon", 1, 1), "its submit time (column 2) is no number of seconds"),
        (swf_line(1, 0, -1, 1), "its run time (column 4) is unknown"),
        (swf_line(1, 0, "nan", 1), "its run time (column 4) is no number of seconds"),
        (swf_line(1, 0, "1e3", 1), "its run time (column 4) is no number of seconds"),
        (swf_line(1, 0, 10**13, 1), "its run time (column 4) is no number of seconds"),
        (swf_line(1, 0, 1, "root"), "its user (column 12) is no number"),
        (swf_line(9, 0, 1, 1), "has the id of a line before it"),
    ],
)
def test_a_line_that_is_no_job_is_named_and_the_others_are_read(line: str, why: str) -> None:
    trace = read_trace([";", swf_line(9, 0, 1, 1), line, swf_line(10, 0, 1, 1)])
    assert trace.bad == (BadLine(3, why),)
    assert [a.name for a in trace.arrivals] == ["9", "10"]


def test_nothing_is_a_trace_without_jobs() -> None:
    assert read_trace([]).arrivals == ()
