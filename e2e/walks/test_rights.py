"""Rights that are taken away and given back while the operator runs. Row 18 of the fault matrix."""

from collections.abc import AsyncIterator

import pytest

from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane.api import Api
from e2e.statuses import condition
from e2e.walks.conftest import Pools
from e2e.walks.test_telling import create, note

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kwicket"


class Rights:
    """The ClusterRole of the operator."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def take(self, resource: str) -> None:
        """Takes away all rights to a resource."""
        role = await self._api.get(ROLE)
        self._rules = role["rules"]
        left = [rule for rule in self._rules if resource not in rule["resources"]]
        assert len(left) == len(self._rules) - 1
        await self._api.patch(ROLE, {"rules": left})

    async def give_back(self) -> None:
        """All of them."""
        await self._api.patch(ROLE, {"rules": self._rules})


@pytest.fixture
async def rights(account: object, api: Api) -> AsyncIterator[Rights]:
    """Given back at the end, whatever was taken."""
    given = Rights(api)
    before = (await api.get(ROLE))["rules"]
    yield given
    await api.patch(ROLE, {"rules": before})


@pytest.mark.timeout(180)
async def test_without_its_ledger_a_pool_names_the_right_it_lacks_and_goes_on_when_it_is_back(
    operator: Operator,
    rights: Rights,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
) -> None:
    pool = await pools.pool()
    await create(api, namespace, "first", pool=pool)
    await observer.until(lambda o: "first" in o.complete)
    await rights.take("ledgers")
    await create(api, namespace, "second", pool=pool)
    ready = await condition(api, "pools", pool, "LedgerUnavailable")
    assert 'resource "ledgers" in API group "kwicket.dev"' in ready["message"]
    assert "second" not in observer.started
    await rights.give_back()
    await observer.until(lambda o: "second" in o.complete)
    assert operator.alive


@pytest.mark.timeout(240)
async def test_without_its_rights_to_jobs_it_says_so_on_job_and_pool_and_goes_on_when_they_are_back(
    operator: Operator,
    rights: Rights,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
) -> None:
    """The watch that is open goes on, so the start is refused; a new pool can't list what runs."""
    pool = await pools.pool()
    await create(api, namespace, "first", pool=pool)
    await observer.until(lambda o: "first" in o.complete)
    await rights.take("jobs")
    await create(api, namespace, "second", pool=pool)
    assert 'cannot patch resource "jobs"' in await note(api, namespace, "second", "Denied")
    late = await pools.declare("pools", "late", {})
    ready = await condition(api, "pools", late, "LedgerUnavailable")
    assert 'cannot list resource "jobs"' in ready["message"]
    await rights.give_back()
    await create(api, namespace, "third", pool=late)
    await observer.until(lambda o: {"second", "third"} <= o.complete.keys(), seconds=120)
    assert operator.alive
