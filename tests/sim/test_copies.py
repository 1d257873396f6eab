"""Copies: a little different each, and the same each time."""

from kwicket.sim.copies import copy_of
from support.simulation import day, flood


def test_a_seed_makes_the_same_copy_and_another_seed_another() -> None:
    jobs = day(1)
    assert copy_of(jobs, 3) == copy_of(jobs, 3)
    assert copy_of(jobs, 3) != copy_of(jobs, 4)


def test_about_seven_in_a_hundred_are_left_out_and_none_is_new() -> None:
    jobs = day(1, jobs=1000)
    copy = copy_of(jobs, 1)
    assert 900 <= len(copy) <= 960
    known = {job.name: (job.tenant, job.runs, job.width) for job in jobs}
    assert all(known[job.name] == (job.tenant, job.runs, job.width) for job in copy)


def test_a_job_moves_by_a_mean_gap_at_most_and_the_order_is_by_time() -> None:
    jobs = day(1)
    copy = copy_of(jobs, 1)
    before, gap = {job.name: job.at for job in jobs}, jobs[-1].at // len(jobs)
    moved = {job.name: abs(job.at - before[job.name]) for job in copy}
    assert 0 < max(moved.values()) <= gap
    assert sorted(copy, key=lambda job: job.at) == list(copy)


def test_none_comes_before_the_beginning() -> None:
    assert all(job.at >= 0 for job in copy_of([*flood("alice", 50), *day(1)], 1))


def test_there_is_a_copy_of_nothing() -> None:
    assert copy_of([], 1) == ()
