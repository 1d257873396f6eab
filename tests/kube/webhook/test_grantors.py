"""Who may start a Job that waits is the API server's to say, and asked seldom."""

import asyncio
import json
from typing import Any

import pytest

from kwicket.kube.client import Client
from kwicket.kube.webhook import grantors
from kwicket.kube.webhook.grantors import PATH, Grantors
from kwicket.kube.webhook.reviews import User
from kwicket.ports.errors import UnavailableError
from support.api_server import ApiServer

OPERATOR = User("system:serviceaccount:kwicket-system:kwicket", "7", ["g"], {"x": ["y"]})
ALICE = User("alice")


def says(api: ApiServer, allowed: Any, times: int = 1) -> None:
    """The next answers of the authorizer."""
    body = json.dumps({"status": {"allowed": allowed}}).encode()
    api.fail(PATH, 201, body=body, method="POST", times=times)


async def test_the_question_is_the_policies_own(api: ApiServer, client: Client) -> None:
    says(api, True)
    assert await Grantors(client).include(OPERATOR, "kwicket")
    [asked] = api.asked("POST", PATH)
    assert asked.body == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "system:serviceaccount:kwicket-system:kwicket",
            "uid": "7",
            "groups": ["g"],
            "extra": {"x": ["y"]},
            "resourceAttributes": {"group": "kwicket.dev", "resource": "grants", "verb": "grant"},
        },
    }


async def test_an_answer_holds_for_a_while_and_for_one_user(api: ApiServer, client: Client) -> None:
    known = Grantors(client)
    says(api, True)
    assert await known.include(OPERATOR, "kwicket")
    says(api, False)
    assert not await known.include(ALICE, "kubectl")
    assert await known.include(OPERATOR, "kwicket")
    assert not await known.include(ALICE, "kubectl")
    assert not api.faults or all(fault.times == 0 for fault in api.faults)
    assert len(api.asked("POST", PATH)) == 2


async def test_a_right_that_was_taken_is_gone_after_that_while(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grantors, "KEPT", 0.0)
    known = Grantors(client)
    says(api, True)
    assert await known.include(OPERATOR, "kwicket")
    says(api, False)
    assert not await known.include(OPERATOR, "kwicket")


async def test_answers_do_not_pile_up(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grantors, "MOST", 3)
    known = Grantors(client)
    says(api, False, times=5)
    for number in range(5):
        await known.include(User(f"user-{number}"), "x")
    assert len(known._known) == 3
    await asyncio.gather(*(known.include(User(f"user-{number}"), "x") for number in (2, 3, 4)))
    assert len(api.asked("POST", PATH)) == 5


@pytest.mark.parametrize(
    ("status", "body"), [(403, b"{}"), (500, b"{}"), (201, b"{}"), (201, b"NaN"), (201, b"")]
)
async def test_where_nobody_can_say_nobody_does(
    api: ApiServer, client: Client, status: int, body: bytes
) -> None:
    api.fail(PATH, status, body=body, method="POST")
    with pytest.raises(UnavailableError):
        await Grantors(client).include(OPERATOR, "kwicket")


@pytest.mark.parametrize(
    ("grants", "assigns", "manager", "writes"),
    [
        (True, False, "kubectl", True),
        (True, True, "kubectl", False),
        (True, True, "kwicket", True),
        (False, True, "kwicket", False),
    ],
)
async def test_an_administrator_writes_as_kwicket_only_under_its_field_manager(
    api: ApiServer, client: Client, grants: bool, assigns: bool, manager: str, writes: bool
) -> None:
    says(api, grants)
    says(api, assigns)
    assert await Grantors(client).include(ALICE, manager) is writes
    last = api.asked("POST", PATH)[-1].body["spec"]["resourceAttributes"]
    if grants and manager == "kubectl":
        assert last == {"group": "kwicket.dev", "resource": "tenants", "verb": "assign"}
