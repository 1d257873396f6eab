"""What was listed before at the same version is not read again."""

import json

import msgspec

from kwicket.kube.cluster import JOBS
from kwicket.kube.known import Known
from support.builders import job_seen


def written(uid: str = "x-1", version: object = "5") -> msgspec.Raw:
    """An object as a page of a list has it."""
    metadata = {"name": "x-1", "uid": uid, "resourceVersion": version}
    return msgspec.Raw(json.dumps({"metadata": metadata, "spec": {}}).encode())


def test_an_object_at_the_version_that_is_known_is_the_one_that_is_known() -> None:
    known, job = Known(JOBS.key, JOBS.version), job_seen("x-1", version="5")
    assert known.keep(job) == "x-1"
    assert known.unchanged(written()) is job


def test_an_object_at_another_version_or_of_another_uid_is_to_be_read() -> None:
    known = Known(JOBS.key, JOBS.version)
    known.keep(job_seen("x-1", version="5"))
    assert known.unchanged(written(version="6")) is None
    assert known.unchanged(written(uid="x-2")) is None
    assert known.unchanged(written(version=5)) is None


def test_what_was_known_when_the_cluster_went_back_is_to_be_read_once() -> None:
    known, job = Known(JOBS.key, JOBS.version), job_seen("x-1", version="5")
    known.keep(job)
    known.outlive()
    assert known.unchanged(written()) is None
    known.keep(job)
    assert known.unchanged(written()) is job


def test_what_is_gone_is_known_no_more() -> None:
    known, job = Known(JOBS.key, JOBS.version), job_seen("x-1", version="5")
    known.keep(job)
    assert known.drop("x-1") is job
    assert known.unchanged(written()) is None
    assert not known.keys()


def test_a_kind_whose_values_have_no_version_is_always_read() -> None:
    known = Known(JOBS.key, None)
    known.keep(job_seen("x-1", version="5"))
    assert known.unchanged(written()) is None
