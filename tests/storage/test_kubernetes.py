"""What is particular to the ledger that lives in the cluster."""

import json

import pytest

from kwicket.core.state import State
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Page
from kwicket_storage.kubernetes import PATH, KubernetesLedger
from support.objects import FakeObjects


async def test_a_page_is_one_object_named_like_its_pool() -> None:
    objects = FakeObjects()
    await KubernetesLedger(objects).open("gpu", State(41))
    [(path, body)] = objects.bodies.items()
    assert path == "/apis/kwicket.dev/v1alpha1/ledgers/gpu"
    assert json.loads(body)["kind"] == "Ledger"
    assert json.loads(body)["spec"]["version"] == "41"


async def test_a_refused_write_says_why_and_changes_nothing() -> None:
    objects = FakeObjects()
    ledger = KubernetesLedger(objects)
    page = await ledger.open("gpu", State(1))
    assert isinstance(page, Page)
    objects.refusal = "request is too large"
    with pytest.raises((UnavailableError, ValueError), match="ledger gpu: request is too large"):
        await ledger.commit(page, State(2))
    with pytest.raises((UnavailableError, ValueError), match="ledger cpu: request is too large"):
        await ledger.open("cpu", State(2))
    assert await ledger.read("gpu") == page


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"name": "gpu", "resourceVersion": "1"}},
        {"metadata": {"name": "gpu", "resourceVersion": "1"}, "spec": None},
        {"metadata": {"name": "gpu", "resourceVersion": "1"}, "spec": {}},
        {"metadata": {"name": "gpu", "resourceVersion": "1"}, "spec": {"version": "one"}},
    ],
    ids=["no spec", "null", "empty", "no number"],
)
async def test_an_object_that_is_no_page_is_refused_as_such(body: object) -> None:
    """The pool then grants nothing and says why; the operator goes on."""
    objects = FakeObjects()
    objects.bodies[f"{PATH}/gpu"] = json.dumps(body)
    with pytest.raises(ValueError, match="ledger"):
        await KubernetesLedger(objects).read("gpu")
