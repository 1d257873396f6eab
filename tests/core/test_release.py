"""When the slot of a granted Job is free again."""

from typing import Any

import pytest

from kwicket.core.release import Holds, Over, Standing, Stray, Unproved, Waits, standing
from support.builders import job_seen, pod_seen

GRANTED = {"suspended": False, "token": 7}
PUT_BACK = {"suspended": True, "token": 7}


def pods(*phases: str) -> list[Any]:
    return [pod_seen(name=f"p-{n}", phase=phase, index=str(n)) for n, phase in enumerate(phases)]


@pytest.mark.parametrize(
    ("fields", "phases", "expected"),
    [
        ({}, (), Waits()),
        ({"settled": False}, (), Waits()),
        ({"suspended": False}, ("Running",), Stray()),
        ({"started": True}, ("Running",), Holds()),
        ({"started": True, "settled": False}, (), Holds()),
        ({"started": True}, (), Unproved()),
        ({"started": True, "deleting": True}, (), Over()),
        ({"deliveries": 1}, ("Running",), Holds()),
        ({"deliveries": 1, "settled": False}, (), Holds()),
        ({"deliveries": 1}, ("Failed",), Unproved()),
        ({"deliveries": 1, "deleting": True}, ("Running",), Holds()),
        (GRANTED, (), Holds()),
        (GRANTED, ("Pending",), Holds()),
        (GRANTED, ("Running",), Holds()),
        (GRANTED, ("Unknown",), Holds()),
        (GRANTED, ("Failed",), Holds()),
        (GRANTED | {"ended": True}, (), Over()),
        ({"ended": True}, (), Over()),
        (PUT_BACK | {"ended": True}, (), Over()),
        (PUT_BACK, (), Unproved()),
        (PUT_BACK, ("Succeeded", "Failed"), Unproved()),
        (PUT_BACK, ("Running", "Failed"), Holds()),
        (PUT_BACK | {"settled": False}, (), Holds()),
        (GRANTED | {"deleting": True}, (), Unproved()),
        (GRANTED | {"deleting": True}, ("Running",), Holds()),
        (GRANTED | {"deleting": True, "ended": True}, (), Over()),
        ({"deleting": True}, (), Over()),
    ],
)
def test_a_job_stands(fields: dict[str, Any], phases: tuple[str, ...], expected: Standing) -> None:
    assert standing(job_seen(**fields), pods(*phases)) == expected


def test_a_vanished_job_holds_its_slot_while_a_pod_of_it_is_live() -> None:
    assert standing(None, pods("Succeeded", "Running")) == Holds()
    assert standing(None, pods("Succeeded", "Failed")) == Unproved()
    assert standing(None, []) == Unproved()


@pytest.mark.parametrize(
    ("fields", "phases", "expected"),
    [
        ({"completions": 1}, ("Succeeded",), Over()),
        ({"completions": 2, "parallelism": 2}, ("Succeeded", "Succeeded"), Over()),
        ({"completions": 2, "parallelism": 2}, ("Succeeded", "Running"), Holds()),
        ({"completions": 2, "parallelism": 2}, ("Succeeded", "Failed"), Holds()),
        ({"completions": 2, "parallelism": 2}, ("Succeeded",), Holds()),
        ({"completions": 1}, ("Succeeded", "Running"), Holds()),
        ({"completions": 3, "succeeded": 3}, (), Over()),
        ({"completions": 3, "succeeded": 2}, ("Succeeded",), Holds()),
        ({"completions": None}, ("Succeeded",), Over()),
        ({"completions": None}, ("Failed",), Holds()),
        ({"completions": None, "parallelism": 3}, ("Succeeded",) * 3, Holds()),
    ],
)
def test_a_job_whose_pods_have_succeeded(
    fields: dict[str, Any], phases: tuple[str, ...], expected: Standing
) -> None:
    assert standing(job_seen(**(GRANTED | fields)), pods(*phases)) == expected


def test_an_index_that_succeeded_twice_counts_once() -> None:
    fields: dict[str, Any] = GRANTED | {"completions": 2, "parallelism": 2, "indexed": True}
    job = job_seen(**fields)
    twice = [pod_seen(name=name, phase="Succeeded", index="0") for name in ("a", "b")]
    other = pod_seen(name="c", phase="Succeeded", index="1")
    assert standing(job, twice) == Holds()
    assert standing(job, [*twice, other]) == Over()


@pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown", ""])
def test_a_pod_is_live_in_phase(phase: str) -> None:
    assert pod_seen(phase=phase).live


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_is_over_in_phase(phase: str) -> None:
    assert not pod_seen(phase=phase).live
