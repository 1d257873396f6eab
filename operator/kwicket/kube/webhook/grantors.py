"""Grantors: who writes Jobs as Kwicket does, as the API server's authorizer knows them.

The questions are the policies' own: may this user `grant` on `grants.kwicket.dev`, and `assign` on
`tenants.kwicket.dev`? They are asked only when an update would be changed, and answers are kept for
a few seconds, so the operator's starts cost one question now and then.
"""

import time
from typing import Any

import msgspec
from msgspec import Struct

from kwicket.kube.client import Client
from kwicket.kube.webhook.reviews import User
from kwicket.ports.errors import UnavailableError

PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
KEPT = 10.0
"""Seconds for which an answer holds: a right that was given or taken is seen that much later."""
MOST = 1000
"""How many answers are kept."""

MANAGER = "kwicket"
"""The field manager of the operator's writes."""

_GRANT = {"group": "kwicket.dev", "resource": "grants", "verb": "grant"}
_ASSIGN = {"group": "kwicket.dev", "resource": "tenants", "verb": "assign"}


class _Status(Struct, frozen=True):
    allowed: bool


class _Answer(Struct, frozen=True):
    status: _Status


class Grantors:
    """Asks the API server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[bytes, tuple[bool, float]] = {}
        """The answer and when it ends on the monotonic clock, the oldest first."""

    async def include(self, user: User, manager: str) -> bool:
        """Whether the user writes as Kwicket with this field manager.

        An administrator holds every verb, and the tools of one apply manifests like an author, so
        who also assigns tenants writes as Kwicket only under its field manager. Raises
        UnavailableError if nobody can say.
        """
        if not await self._may(user, _GRANT):
            return False
        return manager == MANAGER or not await self._may(user, _ASSIGN)

    async def _may(self, user: User, verb: dict[str, str]) -> bool:
        question = _question(user, verb)
        answer, until = self._known.get(question, (False, 0.0))
        if time.monotonic() < until:
            return answer
        answer = await self._ask(question)
        self._known.pop(question, None)
        self._known[question] = answer, time.monotonic() + KEPT
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        return answer

    async def _ask(self, question: bytes) -> bool:
        answer = await self._client.call("POST", PATH, body=question)
        if not answer.ok:
            raise UnavailableError(f"who may write as Kwicket can't be asked: {answer.message}")
        try:
            return msgspec.json.decode(answer.body, type=_Answer).status.allowed
        except ValueError as error:
            raise UnavailableError(f"the answer is not understood: {error}") from error


def _question(user: User, verb: dict[str, str]) -> bytes:
    spec: dict[str, Any] = {
        "user": user.username,
        "uid": user.uid,
        "groups": user.groups or [],
        "extra": user.extra or {},
        "resourceAttributes": verb,
    }
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    return msgspec.json.encode(review, order="deterministic")
