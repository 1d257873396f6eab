"""Checks: each part that is missing is named, with what to do."""

import json
from typing import Any

import pytest

from kwicket.kube.checks import Checks, Finding, Meant
from kwicket.kube.client import Client
from support.api_parts import status_of
from support.api_server import POOLS, ApiServer

TRIED = "/apis/batch/v1/namespaces/system/jobs"
TOKEN = {"name": "KWICKET_TOKEN", "valueFrom": {}}
GUARDED = "ValidatingAdmissionPolicy 'kwicket-guard' with binding 'kwicket-guard' denied request"
TOLD = 'admission webhook "jobs.kwicket.dev" denied the request: there is no lane'


def job(*, suspend: bool = True, env: tuple[Any, ...] = (TOKEN,)) -> bytes:
    template = {"spec": {"containers": [{"name": "main", "env": list(env)}]}}
    return json.dumps({"spec": {"suspend": suspend, "template": template}}).encode()


def answers(
    api: ApiServer,
    held: bytes | None = None,
    guarded: str | None = GUARDED,
    told: str | None = TOLD,
) -> None:
    """What the API server says of the Jobs that are tried, in turn; None accepts one."""
    api.fail(TRIED, 201, method="POST", body=held or job())
    for message in (guarded, told):
        refused = (422, status_of(422, message)) if message else (201, job())
        api.fail(TRIED, refused[0], method="POST", body=refused[1])


def pool(api: ApiServer, seen: int = 1) -> None:
    status = {"observedGeneration": seen}
    api.put(POOLS, {"metadata": {"name": "gpus"}, "spec": {}, "status": status})


async def found(client: Client, **meant: bool) -> list[Finding]:
    return [finding async for finding in Checks(client, "system", Meant(**meant)).run()]


async def wrong(client: Client) -> str:
    """What is wrong with the one thing that is."""
    [words] = [finding.wrong for finding in await found(client) if finding.wrong]
    return words


async def test_an_installation_that_works_has_no_faults(api: ApiServer, client: Client) -> None:
    pool(api)
    answers(api)
    findings = await found(client)
    assert [finding.wrong for finding in findings] == [None] * 5
    assert len({finding.what for finding in findings}) == 5


async def test_jobs_are_tried_in_a_pool_that_exists_and_never_stored(
    api: ApiServer, client: Client
) -> None:
    pool(api)
    answers(api)
    await found(client)
    tried = api.asked("POST", TRIED)
    assert [request.query for request in tried] == [{"dryRun": "All"}] * 3
    labels = [request.body["metadata"]["labels"] for request in tried]
    assert labels[0] == {"kwicket.dev/tenant": "kwicket-check", "kwicket.dev/pool": "gpus"}


async def test_in_a_namespace_that_has_a_tenant_its_jobs_are_tried(
    api: ApiServer, client: Client
) -> None:
    pool(api)
    bound = "namespace system belongs to tenant infra, not kwicket-check"
    for status, body in (
        (201, job()),
        (422, status_of(422, GUARDED)),
        (422, status_of(422, TOLD)),
    ):
        api.fail(TRIED, 422, method="POST", body=status_of(422, bound))
        api.fail(TRIED, status, method="POST", body=body)
    assert [finding.wrong for finding in await found(client)] == [None] * 5
    tenants = [
        request.body["metadata"]["labels"]["kwicket.dev/tenant"]
        for request in api.asked("POST", TRIED)
    ]
    assert tenants == ["kwicket-check", "infra"] * 3


async def test_without_pools_nothing_can_be_said_of_the_operator(
    api: ApiServer, client: Client
) -> None:
    answers(api)
    assert [finding.wrong for finding in await found(client)] == [None] * 4


async def test_without_a_webhook_nothing_is_asked_of_it(api: ApiServer, client: Client) -> None:
    answers(api)
    assert [finding.wrong for finding in await found(client, webhook=False)] == [None] * 3
    assert len(api.asked("POST", TRIED)) == 2


async def test_definitions_that_are_missing_are_named(api: ApiServer, client: Client) -> None:
    api.fail(POOLS, 404)
    answers(api)
    assert "install the chart with crds.install=true" in await wrong(client)


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (job(suspend=False), "the chart's policies are not there"),
        (job(env=()), "it has no KWICKET_TOKEN"),
    ],
)
async def test_a_job_that_would_not_wait_is_a_fault(
    api: ApiServer, client: Client, held: bytes, words: str
) -> None:
    answers(api, held=held)
    assert words in await wrong(client)


async def test_a_job_that_is_refused_is_a_fault(api: ApiServer, client: Client) -> None:
    api.fail(TRIED, 422, method="POST", body=status_of(422, "quota"))
    answers(api)
    first, second, *_ = await found(client)
    assert first.wrong is None
    assert second.wrong == "it was refused: quota"


async def test_a_job_that_only_the_webhook_refuses_has_been_suspended(
    api: ApiServer, client: Client
) -> None:
    """As where no Pool admits the Jobs of the namespace that is tried."""
    api.fail(TRIED, 400, method="POST", body=status_of(400, TOLD))
    answers(api)
    assert (await found(client))[1].wrong is None


@pytest.mark.parametrize(
    ("guarded", "words"),
    [(None, "it was accepted; run helm upgrade"), ("no", "it was refused by another: no")],
)
async def test_a_guard_that_is_not_there_is_a_fault(
    api: ApiServer, client: Client, guarded: str | None, words: str
) -> None:
    answers(api, guarded=guarded)
    assert words in await wrong(client)


@pytest.mark.parametrize("told", [None, "no"])
async def test_a_webhook_that_says_nothing_is_a_fault(
    api: ApiServer, client: Client, told: str | None
) -> None:
    answers(api, told=told)
    assert "logs of the Deployment kwicket-webhook" in await wrong(client)


async def test_a_pool_that_the_operator_has_not_seen_is_a_fault(
    api: ApiServer, client: Client
) -> None:
    pool(api, seen=0)
    answers(api)
    assert "logs of the Deployment kwicket" in await wrong(client)


async def warned(client: Client, **meant: bool) -> list[str]:
    """All warnings, where nothing is wrong."""
    findings = await found(client, **meant)
    assert [finding.wrong for finding in findings] == [None] * len(findings)
    return [finding.warning for finding in findings if finding.warning]


async def test_what_was_switched_off_is_no_fault(api: ApiServer, client: Client) -> None:
    answers(api, held=job(suspend=False), guarded=None, told=None)
    words = "it does not hold, since policies.enforce is false"
    assert await warned(client, enforced=False) == [words] * 3


async def test_what_works_though_it_need_not_is_no_warning(api: ApiServer, client: Client) -> None:
    pool(api)
    answers(api)
    assert await warned(client, enforced=False, operator=False) == []


async def test_where_nobody_suspends_jobs_those_are_tried_that_say_it_themselves(
    api: ApiServer, client: Client
) -> None:
    answers(api, held=job(env=()))
    [words] = await warned(client, mutated=False, webhook=False)
    assert "nobody suspends Jobs for their authors" in words
    assert [request.body["spec"].get("suspend") for request in api.asked("POST", TRIED)] == [
        True,
        None,
    ]


async def test_where_even_those_are_refused_that_is_a_fault(api: ApiServer, client: Client) -> None:
    api.fail(TRIED, 422, method="POST", body=status_of(422, "quota"))
    answers(api)
    findings = await found(client, mutated=False)
    assert findings[1].wrong == "it was refused: quota"


async def test_without_an_operator_a_pool_that_nobody_has_seen_is_no_fault(
    api: ApiServer, client: Client
) -> None:
    pool(api, seen=0)
    answers(api)
    assert await warned(client, operator=False) == [
        "it does not hold, since operator.replicas is 0"
    ]
