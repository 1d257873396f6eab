"""Statuses: written when they differ, with the stamps of real transitions, and never in a loop."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.kube.client import Client
from kwicket.kube.clock import SystemClock
from kwicket.kube.statuses import Statuses
from kwicket.ports.errors import UnavailableError
from kwicket.ports.notices import Condition, PoolFigures
from support.api_server import LIMITS, POOLS, ApiServer

STATUS = f"{POOLS}/gpu/status"
READY = Condition("Ready", True, "Serving", "it serves")
FIGURES = PoolFigures(
    waiting=3, running=1, tenants=2, oldest_waiting=1_793_607_330_999, last_grant=None, token=42
)


@pytest.fixture
def statuses(api: ApiServer, client: Client) -> Statuses:
    made = Statuses(client, SystemClock())
    made.saw("Pool", api.put(POOLS, {"metadata": {"name": "gpu"}, "spec": {}}))
    return made


def stored(api: ApiServer, path: str = POOLS) -> dict[str, Any]:
    [body] = api.objects[path].values()
    status: dict[str, Any] = body["status"]
    return status


def condition(api: ApiServer, kind: str = "Ready") -> dict[str, Any]:
    [found] = [c for c in stored(api)["conditions"] if c["type"] == kind]
    return dict(found)


async def test_figures_and_conditions_are_written_as_the_schema_has_them(
    api: ApiServer, statuses: Statuses
) -> None:
    await statuses.show_pool("gpu", FIGURES, (READY,))
    status = stored(api)
    [ready] = status.pop("conditions")
    assert status == {
        "waiting": 3,
        "running": 1,
        "tenants": 2,
        "oldestWaiting": "2026-11-02T08:15:30Z",
        "token": "42",
        "observedGeneration": 1,
    }
    assert ready.pop("lastTransitionTime").endswith("Z")
    assert ready == {
        "type": "Ready",
        "status": "True",
        "reason": "Serving",
        "message": "it serves",
        "observedGeneration": 1,
    }
    [request] = api.requests
    assert request.path == STATUS


async def test_an_equal_status_is_not_written(api: ApiServer, statuses: Statuses) -> None:
    for _ in range(3):
        await statuses.show_pool("gpu", FIGURES, (READY,))
    assert len(api.requests) == 1


async def test_a_status_equal_to_what_was_read_is_not_written(
    api: ApiServer, statuses: Statuses, client: Client
) -> None:
    await statuses.show_pool("gpu", FIGURES, (READY,))
    again = Statuses(client, SystemClock())
    again.saw("Pool", api.objects[POOLS]["", "gpu"])
    await again.show_pool("gpu", FIGURES, (READY,))
    assert len(api.requests) == 1


async def test_a_figure_without_a_value_is_taken_away(api: ApiServer, statuses: Statuses) -> None:
    await statuses.show_pool("gpu", FIGURES, (READY,))
    idle = PoolFigures(0, 0, 0, oldest_waiting=None, last_grant=1000, token=None)
    await statuses.show_pool("gpu", idle, (READY,))
    await statuses.show_pool("gpu", idle, (READY,))
    assert "oldestWaiting" not in stored(api)
    assert stored(api)["lastGrant"] == "1970-01-01T00:00:01Z"
    assert stored(api)["token"] == "42"  # noqa: S105  # what was given out stays
    assert len(api.requests) == 2


async def test_a_transition_is_stamped_when_the_status_turns_and_only_then(
    api: ApiServer, client: Client
) -> None:
    old = {"type": "Ready", "status": "True", "reason": "Odd", "message": ""}
    body = {
        "metadata": {"name": "gpu"},
        "spec": {},
        "status": {"conditions": [old | {"lastTransitionTime": "2020-01-01T00:00:00Z"}]},
    }
    statuses = Statuses(client, SystemClock())
    statuses.saw("Pool", api.put(POOLS, body))
    await statuses.show("Pool", "gpu", (READY,))
    assert condition(api)["reason"] == "Serving"
    assert condition(api)["lastTransitionTime"] == "2020-01-01T00:00:00Z"
    await statuses.show("Pool", "gpu", (Condition("Ready", False, "Broken", "why"),))
    assert condition(api)["status"] == "False"
    assert condition(api)["lastTransitionTime"] > "2026"


async def test_conditions_of_others_are_kept_and_ours_that_are_over_go(
    api: ApiServer, client: Client
) -> None:
    foreign = {"type": "example.com/Checked", "status": "Unknown", "reason": "Odd", "message": "?"}
    ours = {"type": "Default", "status": "True", "reason": "OnlyDefault", "message": ""}
    body = {"metadata": {"name": "gpu"}, "status": {"conditions": [foreign, ours]}}
    statuses = Statuses(client, SystemClock())
    statuses.saw("Pool", api.put(POOLS, body))
    await statuses.show("Pool", "gpu", (READY,))
    await statuses.show("Pool", "gpu", (READY,))
    assert stored(api)["conditions"][1:] == [foreign]
    assert len(api.requests) == 1


@pytest.mark.parametrize("conditions", [None, [{"type": "Ready", "status": "True"}]])
async def test_conditions_that_lack_something_do_no_harm(
    api: ApiServer, client: Client, conditions: object
) -> None:
    statuses = Statuses(client, SystemClock())
    statuses.saw(
        "Pool", api.put(POOLS, {"metadata": {"name": "gpu"}, "status": {"conditions": conditions}})
    )
    await statuses.show("Pool", "gpu", (READY,))
    assert condition(api)["lastTransitionTime"]


async def test_a_new_generation_is_said_to_be_observed(api: ApiServer, statuses: Statuses) -> None:
    await statuses.show("Pool", "gpu", (READY,))
    changed = api.objects[POOLS]["", "gpu"] | {"spec": {"paused": True}}
    statuses.saw("Pool", api.put(POOLS, changed))
    await statuses.show("Pool", "gpu", (READY,))
    assert stored(api)["observedGeneration"] == 2
    assert condition(api)["observedGeneration"] == 2


async def test_what_was_deleted_or_never_seen_is_not_written(
    api: ApiServer, statuses: Statuses
) -> None:
    await statuses.show("Limit", "other", (READY,))
    statuses.lost("Pool", "gpu")
    await statuses.show_pool("gpu", FIGURES, (READY,))
    statuses.lost("Pool", "gpu")
    assert api.requests == []


async def test_an_object_deleted_meanwhile_does_no_harm(api: ApiServer, statuses: Statuses) -> None:
    api.delete(POOLS, "gpu")
    await statuses.show_pool("gpu", FIGURES, (READY,))
    statuses.saw("Pool", api.put(POOLS, {"metadata": {"name": "gpu"}}))
    await statuses.show_pool("gpu", FIGURES, (READY,))
    assert stored(api)["waiting"] == 3


async def test_a_status_that_comes_late_does_not_lower_the_token(
    api: ApiServer, statuses: Statuses, client: Client
) -> None:
    """Another leader has shown a higher one since; its Pool is read before the next try."""
    other = Statuses(client, SystemClock())
    other.saw("Pool", api.objects[POOLS]["", "gpu"])
    await other.show_pool("gpu", replace(FIGURES, token=43), (READY,))
    with pytest.raises(UnavailableError, match="changed meanwhile"):
        await statuses.show_pool("gpu", FIGURES, (READY,))
    assert stored(api)["token"] == "43"  # noqa: S105
    await statuses.show_pool("gpu", replace(FIGURES, token=44), (READY,))
    assert stored(api)["token"] == "44"  # noqa: S105


@pytest.mark.parametrize("status", [403, 404, 422])
async def test_a_write_that_was_not_done_is_not_remembered(
    api: ApiServer, statuses: Statuses, status: int
) -> None:
    api.fail(STATUS, status, method="PATCH")
    await statuses.show_pool("gpu", FIGURES, (READY,))
    await statuses.show_pool("gpu", FIGURES, (READY,))
    assert stored(api)["waiting"] == 3


async def test_without_an_answer_it_is_written_again(api: ApiServer, statuses: Statuses) -> None:
    api.fail(STATUS, 503, method="PATCH", applied=True)
    for why in ("HTTP 503", "changed meanwhile"):
        with pytest.raises(UnavailableError, match=why):
            await statuses.show_pool("gpu", FIGURES, (READY,))
    await statuses.show_pool("gpu", FIGURES, (READY,))
    assert stored(api)["waiting"] == 3


async def test_what_the_api_server_kept_is_what_is_shown(
    api: ApiServer, statuses: Statuses
) -> None:
    """Somebody else's condition came in between: the next write keeps it."""
    foreign = {"type": "example.com/Checked", "status": "True", "reason": "Odd", "message": ""}
    await statuses.show("Pool", "gpu", (READY,))
    body = api.objects[POOLS]["", "gpu"]
    body["status"]["conditions"].append(foreign)
    statuses.saw("Pool", body)
    await statuses.show("Pool", "gpu", (Condition("Ready", False, "Paused", ""),))
    assert condition(api, "example.com/Checked") == foreign


async def test_a_limit_has_a_status_of_its_own(api: ApiServer, client: Client) -> None:
    statuses = Statuses(client, SystemClock())
    statuses.saw("Limit", api.put(LIMITS, {"metadata": {"name": "eight"}, "spec": {}}))
    await statuses.show("Limit", "eight", (READY,))
    assert stored(api, LIMITS)["conditions"][0]["reason"] == "Serving"
    assert set(stored(api, LIMITS)) == {"conditions", "observedGeneration"}
