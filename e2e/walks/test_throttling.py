"""An API server that asks the operator to come back later. Row 15 of the fault matrix."""

import time
from collections.abc import AsyncIterator

import pytest

from e2e import load
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane.api import Api, Object
from e2e.recoveries import Recovered
from e2e.walks.conftest import Pools
from e2e.walks.test_telling import create

JOBS = 20
FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1"


class Throttle:
    """A priority level without seats: of several requests at a time one is served, and the others
    are told 429, and when to ask again.
    """

    def __init__(self, api: Api, name: str) -> None:
        self._api = api
        self._name = name

    async def begin(self) -> None:
        """For the operator's patches of Jobs; returns when the API server has read of it."""
        limited = {
            "nominalConcurrencyShares": 0,
            "lendablePercent": 0,
            "limitResponse": {"type": "Reject"},
        }
        level = {"metadata": {"name": self._name}, "spec": {"type": "Limited", "limited": limited}}
        await self._api.create(f"{FLOWS}/prioritylevelconfigurations", level)
        account = {"name": "kwicket", "namespace": "kwicket-system"}
        rule = {
            "subjects": [{"kind": "ServiceAccount", "serviceAccount": account}],
            "resourceRules": [
                {
                    "verbs": ["patch"],
                    "apiGroups": ["batch"],
                    "resources": ["jobs"],
                    "namespaces": ["*"],
                }
            ],
        }
        spec = {
            "priorityLevelConfiguration": {"name": self._name},
            "matchingPrecedence": 2,
            "rules": [rule],
        }
        flow = {"metadata": {"name": self._name}, "spec": spec}
        await self._api.create(f"{FLOWS}/flowschemas", flow)
        await self._api.until(f"{FLOWS}/flowschemas/{self._name}", _is_read)

    async def end(self) -> None:
        """Takes it away, if it is there."""
        for plural in ("flowschemas", "prioritylevelconfigurations"):
            found, _ = await self._api.list(
                f"{FLOWS}/{plural}", fieldSelector=f"metadata.name={self._name}"
            )
            if found:
                await self._api.delete(f"{FLOWS}/{plural}/{self._name}")


def _is_read(flow: Object | None) -> bool:
    conditions = (flow or {}).get("status", {}).get("conditions", [])
    return any(c["type"] == "Dangling" and c["status"] == "False" for c in conditions)


@pytest.fixture
async def throttle(api: Api, namespace: str) -> AsyncIterator[Throttle]:
    made = Throttle(api, namespace)
    yield made
    await made.end()


@pytest.mark.timeout(120)
async def test_starts_that_are_throttled_come_when_they_may(
    throttle: Throttle,
    operator: Operator,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Each once, by tokens in the order of the line; meanwhile the operator leads on."""
    await throttle.begin()
    pool = await pools.pool(paused=True)
    for number in range(JOBS):
        await create(api, namespace, f"job-{number:02}", pool=pool)
    await pools.until(pool, waiting=JOBS)
    begin = time.monotonic()
    await load.pause(api, pool, False)
    await observer.until(lambda o: len(o.complete) == JOBS, seconds=90)
    last = max(observer.started.values()) - begin
    recovered("15", f"HTTP 429 for all but one start at a time: the last of {JOBS}", last)
    assert "HTTP 429" in operator.log.read_text()
    assert "leads no more" not in operator.log.read_text()
    assert observer.order() == sorted(observer.order())
    assert [len(tokens) for tokens in observer.tokens.values()] == [1] * JOBS
