"""What is no review is said to be none, and nothing of it is ever allowed."""

import json
from typing import Any

import pytest

from kwicket.kube.webhook import declarations, judgement, mutation
from kwicket.kube.webhook.reviews import BadReviewError, Reviews, Verdict, judged
from support.reviews import encoded, job, response, review

ALL: list[Reviews[Any, Any]] = [mutation.JOBS, judgement.JOBS]


def without(*keys: str) -> dict[str, Any]:
    """A review that lacks a field."""
    body = review(job())
    place = body
    for key in keys[:-1]:
        place = place[key]
    del place[keys[-1]]
    return body


def with_request(**fields: Any) -> dict[str, Any]:
    """A review whose request says something else."""
    body = review(job())
    body["request"] |= fields
    return body


DEEP = 100_000
NO_REVIEWS: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"allowed",
    "no object": b"[]",
    "null": b"null",
    "cut off": encoded(review(job()))[:-1],
    "two": encoded(review(job())) * 2,
    "byte order mark": b"\xef\xbb\xbf" + encoded(review(job())),
    "NaN where it is read": encoded(review(job(parallelism=float("nan"), suspend=float("nan")))),
    "NaN where it is skipped": encoded(review(job(), unheard=float("nan"))),
    "infinity": encoded(review(job(), unheard=float("-inf"))),
    "deep": b"[" * DEEP + b"]" * DEEP,
    "deep where it is skipped": encoded(review(job(), unheard="HERE")).replace(
        b'"HERE"', b"[" * DEEP + b"]" * DEEP
    ),
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "no UTF-8 where it is read": encoded(review(job("HERE"))).replace(b"HERE", b"\xff"),
    "no UTF-8 where it is skipped": encoded(review(job(), unheard="HERE")).replace(
        b"HERE", b"\xff"
    ),
    "half a surrogate": encoded(review(job("\ud800"))),
    "other version": encoded(review(job()) | {"apiVersion": "admission.k8s.io/v1beta1"}),
    "other kind": encoded(review(job()) | {"kind": "ConversionReview"}),
    "no version": encoded(without("apiVersion")),
    "no kind": encoded(without("kind")),
    "no request": encoded(without("request")),
    "no UID": encoded(without("request", "uid")),
    "no object to review": encoded(without("request", "object")),
    "object is null": encoded(with_request(object=None)),
    "object is a list": encoded(with_request(object=[])),
    "deletion": encoded(with_request(operation="DELETE")),
    "no operation": encoded(without("request", "operation")),
    "update of nothing": encoded(with_request(operation="UPDATE")),
    "creation over something": encoded(with_request(oldObject=job())),
    "other resource": encoded(
        with_request(resource={"group": "", "version": "v1", "resource": "pods"})
    ),
    "other group": encoded(
        with_request(resource={"group": "example.com", "version": "v1", "resource": "jobs"})
    ),
    "subresource": encoded(with_request(subResource="status")),
}


@pytest.mark.parametrize("reviews", ALL)
@pytest.mark.parametrize("body", NO_REVIEWS.values(), ids=NO_REVIEWS.keys())
def test_what_is_no_review_is_refused(reviews: Reviews[Any, Any], body: bytes) -> None:
    with pytest.raises(BadReviewError) as refused:
        reviews.read(body)
    assert refused.value.status == 400
    assert 0 < len(str(refused.value)) < 500


def test_what_is_skipped_may_be_anything_else() -> None:
    body = with_request(unheard={"a": [1e300, None, "ü\u0000"]})
    assert mutation.JOBS.read(encoded(body)).operation == "CREATE"


def test_jobs_are_no_declarations() -> None:
    with pytest.raises(BadReviewError, match="jobs of group 'batch' is not reviewed by this path"):
        declarations.DECLARATIONS.read(encoded(review(job())))


def test_who_asks_is_known() -> None:
    body = with_request(
        userInfo={
            "username": "system:serviceaccount:a:b",
            "uid": "7",
            "groups": ["g"],
            "extra": {"x": ["y"]},
        }
    )
    user = mutation.JOBS.read(encoded(body)).user_info
    assert (user.username, user.uid, user.groups) == ("system:serviceaccount:a:b", "7", ["g"])
    assert user.extra == {"x": ["y"]}


def test_a_verdict_names_all_errors_in_one_answer() -> None:
    uid = review(job())["request"]["uid"]
    said = response(judged(uid, Verdict(["one", "two"], ["beware"])))
    assert said == {
        "uid": uid,
        "allowed": False,
        "status": {"message": "one; two", "code": 422, "reason": "Invalid"},
        "warnings": ["beware"],
    }


def test_an_answer_without_words_is_short() -> None:
    answer = judged("u", Verdict())
    assert json.loads(answer.body)["response"] == {"uid": "u", "allowed": True}
