"""An operator that begins while the policies are out of force; see e2e/threats/test_missing.py."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from e2e import operators
from e2e.observer import Observer
from e2e.plane.api import Api
from e2e.statuses import condition
from e2e.tools import Tool
from e2e.walks.conftest import Pools
from e2e.walks.test_telling import create

BINDING = "validatingadmissionpolicybinding/kwicket-guard"


async def test_an_operator_that_starts_without_the_policies_grants_nothing(
    account: Path,
    tmp_path: Path,
    kubectl: Tool,
    restore: Callable[[], None],
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
) -> None:
    pool = await pools.pool()
    await create(api, namespace, "waits", pool=pool)
    kubectl("delete", BINDING)
    with operators.running(account, tmp_path / "operator.log"):
        ready = await condition(api, "pools", pool, "PolicyMissing")
        assert ready["status"] == "False"
        assert "waits" not in observer.started
        await asyncio.to_thread(restore)
        await observer.until(lambda o: "waits" in o.complete)
