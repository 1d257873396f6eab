"""What one tenant breaks stays that tenant's trouble."""

import uuid
from collections.abc import AsyncIterator

import pytest

from e2e import load
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane.api import Api
from e2e.walks.conftest import Pools

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


@pytest.fixture
async def broken(api: Api) -> AsyncIterator[str]:
    """A namespace in which no Job can be changed, since a webhook that must agree is down."""
    name = f"broken-{uuid.uuid4().hex[:8]}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    hook = {
        "name": "down.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [
            {
                "apiGroups": ["batch"],
                "apiVersions": ["v1"],
                "resources": ["jobs"],
                "operations": ["UPDATE"],
            }
        ],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    await api.create(WEBHOOKS, {"metadata": {"name": name}, "webhooks": [hook]})
    yield name
    await api.delete(f"{WEBHOOKS}/{name}")
    await api.delete(f"/api/v1/namespaces/{name}")


async def test_jobs_that_nobody_can_start_do_not_keep_the_others_waiting(
    broken: str, operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    """They give their slots back, and their author is told what refuses them."""
    pool = await pools.pool(limit=2)
    for number in range(6):
        job = load.labelled_job(f"stuck-{number}", "alice", ["true"], pool=pool)
        await api.create(load.jobs_path(broken), job)
    await api.create(
        load.jobs_path(namespace), load.labelled_job("fine", "bob", ["true"], pool=pool)
    )
    await observer.until(lambda o: "fine" in o.complete)
    events = f"/apis/events.k8s.io/v1/namespaces/{broken}/events"
    told = await api.until_all(
        events, lambda seen: any(event["reason"] == "Denied" for event in seen.values())
    )
    notes = [str(event["note"]) for event in told.values() if event["reason"] == "Denied"]
    assert "failed calling webhook" in notes[0]
