"""Renewal: what is written to the Secret and the webhook configurations, in which order, and when
nothing is.
"""

import asyncio
import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from kwicket.kube.certificates import LIFETIME, Certificate, issue, why_renew
from kwicket.kube.client import Client
from kwicket.kube.renewal import Place, Renewal, RenewalError
from kwicket.ports.errors import UnavailableError
from support.api_server import ApiServer

SECRETS = "/api/v1/secrets"
MUTATING, VALIDATING = (
    f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations"
    for kind in ("mutating", "validating")
)
PLACE = Place("system", "webhook", "certificate", "kwicket")
NAME = "webhook.system.svc"
NOW = datetime(2026, 11, 30, 8, tzinfo=UTC)
KEYS = ("ca.crt", "tls.crt", "tls.key")


@pytest.fixture
def installed(api: ApiServer) -> ApiServer:
    """As the chart leaves it, with a mutating configuration too."""
    for path in (SECRETS, MUTATING, VALIDATING):
        api.objects[path] = {}
    api.put(SECRETS, {"metadata": {"name": "certificate", "namespace": "system"}})
    hook = {"clientConfig": {"service": {"name": "webhook"}}, "timeoutSeconds": 3}
    for path, hooks in ((MUTATING, ("hold",)), (VALIDATING, ("jobs", "objects"))):
        webhooks = [{"name": name, **hook} for name in hooks]
        api.put(path, {"metadata": {"name": "kwicket"}, "webhooks": webhooks})
    return api


def stored(api: ApiServer) -> Certificate:
    data: dict[str, str] = api.objects[SECRETS]["system", "certificate"]["data"]
    return Certificate(*(base64.b64decode(data[key]) for key in KEYS))


def bundles(api: ApiServer) -> list[bytes]:
    hooks = [hook for path in (MUTATING, VALIDATING) for hook in hooks_of(api, path)]
    return [base64.b64decode(hook["clientConfig"].get("caBundle", "")) for hook in hooks]


def hooks_of(api: ApiServer, path: str) -> list[dict[str, Any]]:
    found = api.objects[path].get(("", "kwicket"), {"webhooks": []})
    hooks: list[dict[str, Any]] = found["webhooks"]
    return hooks


def writes(api: ApiServer) -> list[str]:
    return [request.path.split("/")[-2] for request in api.requests if request.method != "GET"]


async def test_the_first_run_makes_a_certificate_that_the_api_server_trusts(
    installed: ApiServer, client: Client
) -> None:
    await Renewal(client, PLACE).run(NOW)
    certificate = stored(installed)
    assert why_renew(certificate, [NAME], NOW) is None
    assert bundles(installed) == [certificate.authorities] * 3
    assert all(hook["timeoutSeconds"] == 3 for hook in hooks_of(installed, VALIDATING))


async def test_a_run_too_many_writes_nothing(installed: ApiServer, client: Client) -> None:
    await Renewal(client, PLACE).run(NOW)
    before = len(installed.requests)
    await Renewal(client, PLACE).run(NOW)
    assert {request.method for request in installed.requests[before:]} == {"GET"}


async def test_in_time_it_is_renewed_and_trusted_before_it_is_served(
    installed: ApiServer, client: Client
) -> None:
    await Renewal(client, PLACE).run(NOW)
    old = stored(installed)
    installed.requests.clear()
    await Renewal(client, PLACE).run(NOW + LIFETIME * 3 / 4)
    new = stored(installed)
    assert new.chain != old.chain
    assert bundles(installed) == [new.authorities] * 3
    assert old.authorities in new.authorities
    assert writes(installed) == [
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "secrets",
    ]


async def test_authorities_that_somebody_took_away_come_back(
    installed: ApiServer, client: Client
) -> None:
    """As after an upgrade that writes the configurations anew."""
    await Renewal(client, PLACE).run(NOW)
    hooks = [{"name": "jobs", "clientConfig": {"service": {}}}]
    installed.put(VALIDATING, {"metadata": {"name": "kwicket"}, "webhooks": hooks})
    before = stored(installed)
    await Renewal(client, PLACE).run(NOW)
    assert stored(installed) == before
    assert bundles(installed) == [before.authorities] * 2


async def test_where_policies_hold_jobs_there_is_one_configuration_less(
    installed: ApiServer, client: Client
) -> None:
    installed.delete(MUTATING, "kwicket")
    await Renewal(client, PLACE).run(NOW)
    assert bundles(installed) == [stored(installed).authorities] * 2


async def test_of_two_runs_at_once_one_gives_way_and_trusts_the_others(
    installed: ApiServer, client: Client
) -> None:
    both = [Renewal(client, PLACE).run(NOW) for _ in range(2)]
    await asyncio.gather(*both)
    assert bundles(installed) == [stored(installed).authorities] * 3
    assert why_renew(stored(installed), [NAME], NOW) is None


async def test_a_secret_written_meanwhile_is_read_again(
    installed: ApiServer, client: Client
) -> None:
    other = issue([NAME], NOW)
    data = dict(zip(KEYS, (other.authorities, other.chain, other.key), strict=True))
    body = {"metadata": {"name": "certificate", "namespace": "system"}}
    patched = f"{VALIDATING}/kwicket"
    released = asyncio.Event()
    held = installed.fail(patched, method="PATCH", until=released)
    run = asyncio.create_task(Renewal(client, PLACE).run(NOW))
    await installed.until(lambda: held.times == 0)
    encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
    installed.put(SECRETS, body | {"data": encoded})
    released.set()
    await run
    assert stored(installed) == other
    assert bundles(installed) == [other.authorities] * 3


async def test_a_secret_that_is_not_there_is_named(installed: ApiServer, client: Client) -> None:
    installed.delete(SECRETS, "certificate", "system")
    with pytest.raises(RenewalError, match="there is no Secret system/certificate"):
        await Renewal(client, PLACE).run(NOW)


async def test_a_refusal_is_said_in_the_api_servers_words(
    installed: ApiServer, client: Client
) -> None:
    path = "/api/v1/namespaces/system/secrets/certificate"
    installed.fail(path, 403, method="PATCH")
    with pytest.raises(RenewalError, match="Secret certificate: as scripted"):
        await Renewal(client, PLACE).run(NOW)
    installed.fail(f"{VALIDATING}/kwicket", 403, method="PATCH")
    with pytest.raises(RenewalError, match="validatingwebhookconfigurations/kwicket: as scripted"):
        await Renewal(client, PLACE).run(NOW)


async def test_an_api_server_that_is_down_is_for_the_job_to_try_again(
    installed: ApiServer, client: Client
) -> None:
    installed.fail("/api/v1/namespaces/system/secrets/certificate", 503)
    with pytest.raises(UnavailableError):
        await Renewal(client, PLACE).run(NOW)
