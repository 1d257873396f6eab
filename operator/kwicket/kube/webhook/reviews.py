"""Admission reviews: what the API server asks, decoded within limits, and what is answered.

Only the fields that decide are decoded, straight into typed values. Nothing of a review is kept.
"""

from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

_VERSION = "admission.k8s.io/v1"
_KIND = "AdmissionReview"


class BadReviewError(Exception):
    """The request is no review that this path can answer; `status` is the HTTP code to say so."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Resource(Struct, frozen=True):
    """What is reviewed, by group, version and plural name."""

    group: str
    version: str
    resource: str


class User(Struct, frozen=True):
    """Who asks the API server for the change."""

    username: str = ""
    uid: str = ""
    groups: list[str] | None = None
    extra: dict[str, list[str]] | None = None


class Options(Struct, frozen=True, rename="camel"):
    """How the change was asked for."""

    field_manager: str = ""


class Request[New, Old](Struct, frozen=True, rename="camel"):
    """One change of one object."""

    uid: str
    resource: Resource
    operation: Literal["CREATE", "UPDATE"]
    object: New
    """As it would be stored, as far as admission has come."""
    old_object: Old | None = None
    """As it is stored; there if and only if the operation is UPDATE."""
    user_info: User = User()
    options: Options | None = None
    namespace: str = ""
    sub_resource: str = ""


class _Review[New, Old](Struct, frozen=True, rename="camel"):
    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    request: Request[New, Old]


class Change(Struct, frozen=True, omit_defaults=True):
    """One operation of a JSON patch (RFC 6902)."""

    op: Literal["add", "remove"]
    path: str
    value: Any = UNSET


class Outcome(StrEnum):
    """What became of a review."""

    ALLOWED = "allowed"
    """As it was."""
    CHANGED = "changed"
    """Allowed, with a patch of ours."""
    REFUSED = "refused"
    INVALID = "invalid"
    """It was no review that the path can answer: an HTTP error below 500."""
    UNANSWERED = "unanswered"
    """It could not be answered, or not in time; the failurePolicy decided."""


class Answer(Struct, frozen=True):
    """An answer as it is sent, and what it says."""

    body: bytes
    outcome: Outcome


class Verdict(Struct, frozen=True):
    """What is wrong with an object, and what its author should know; both are sentences."""

    errors: list[str] = []
    warnings: list[str] = []


class _Status(Struct, frozen=True):
    message: str
    code: int = 422
    reason: str = "Invalid"


class _Response(Struct, frozen=True, rename="camel", omit_defaults=True):
    uid: str
    allowed: bool
    status: _Status | UnsetType = UNSET
    warnings: list[str] = []
    patch_type: str = ""
    patch: bytes = b""
    """In JSON it is base64, as the API server wants it."""


class _Answered(Struct, frozen=True, rename="camel"):
    response: _Response
    api_version: str = _VERSION
    kind: str = _KIND


class Reviews[New, Old]:
    """The reviews of some resources, each by its group and plural name."""

    def __init__(self, new: type[New], old: type[Old], *resources: tuple[str, str]) -> None:
        self._decoder = msgspec.json.Decoder(_Review[new, old])  # type: ignore[valid-type]  # a type of run time
        self._resources = resources

    def read(self, body: bytes) -> Request[New, Old]:
        """Raises BadReviewError for all that is not a v1 review of a change of these resources."""
        try:
            if not body.isascii():
                body.decode()  # what is skipped is not looked at by the decoder
            request: Request[New, Old] = self._decoder.decode(body).request
        except RecursionError as error:
            raise BadReviewError(400, "the review is nested too deeply") from error
        except ValueError as error:
            raise BadReviewError(400, f"no AdmissionReview of {_VERSION}: {error}") from error
        reviewed = request.resource
        if (reviewed.group, reviewed.resource) not in self._resources or request.sub_resource:
            part = f"/{request.sub_resource}" if request.sub_resource else ""
            what = f"{reviewed.resource}{part} of group {reviewed.group!r}"
            raise BadReviewError(400, f"{what[:200]} is not reviewed by this path")
        if (request.old_object is None) != (request.operation == "CREATE"):
            raise BadReviewError(400, f"a {request.operation} with the wrong oldObject")
        return request


def allowed(
    uid: str, changes: list[Change] | None = None, warnings: list[str] | None = None
) -> Answer:
    """The answer that lets the change through, with changes of ours."""
    patch = msgspec.json.encode(changes) if changes else b""
    kind = "JSONPatch" if changes else ""
    said = _Response(uid, True, warnings=warnings or [], patch_type=kind, patch=patch)
    outcome = Outcome.CHANGED if changes else Outcome.ALLOWED
    return Answer(msgspec.json.encode(_Answered(said)), outcome)


def judged(uid: str, verdict: Verdict) -> Answer:
    """The answer that says all that is wrong in one sentence; allowed if nothing is."""
    if not verdict.errors:
        return allowed(uid, warnings=verdict.warnings)
    status = _Status("; ".join(verdict.errors))
    said = _Response(uid, False, status, verdict.warnings)
    return Answer(msgspec.json.encode(_Answered(said)), Outcome.REFUSED)
