"""Statuses of Pools, Lanes and Limits: written when they differ from what the object shows."""

from collections.abc import Mapping
from typing import Any

import structlog

from kwicket.engine.conditions import OF_POOLS
from kwicket.failpoints import Failpoint, reach
from kwicket.kube.client import Client
from kwicket.kube.objects import timestamp
from kwicket.kube.shown import pool_now
from kwicket.ports.clock import Clock
from kwicket.ports.errors import UnavailableError
from kwicket.ports.notices import Condition, PoolFigures
from kwicket.ports.objects import Changed, Found, Refused

GROUP = "/apis/kwicket.dev/v1alpha1"
PLURALS = {"Pool": "pools", "Lane": "lanes", "Limit": "limits"}

_log = structlog.get_logger(__name__)


class Statuses:
    """Remembers the statuses as last read or written, so that an equal one is not written."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._shown: dict[tuple[str, str], dict[str, Any]] = {}
        self._generations: dict[tuple[str, str], int] = {}
        self._versions: dict[tuple[str, str], str] = {}

    def saw(self, kind: str, body: Mapping[str, Any]) -> None:
        """Notes an object as read from the API server."""
        key = kind, body["metadata"]["name"]
        self._generations[key] = body["metadata"].get("generation", 0)
        self._note(key, body)

    def _note(self, key: tuple[str, str], body: Mapping[str, Any]) -> None:
        """What it shows by now; of its rules no more was observed."""
        self._shown[key] = dict(body.get("status") or {})
        self._versions[key] = body["metadata"]["resourceVersion"]

    def lost(self, kind: str, name: str) -> None:
        """Notes that an object is gone."""
        self._shown.pop((kind, name), None)
        self._generations.pop((kind, name), None)
        self._versions.pop((kind, name), None)

    async def show_pool(
        self, name: str, figures: PoolFigures, conditions: tuple[Condition, ...]
    ) -> None:
        """Writes a Pool's figures and conditions. Raises UnavailableError.

        Never over a version that was not seen: a write that comes late would lower the token.
        """
        status = {
            "waiting": figures.waiting,
            "running": figures.running,
            "tenants": figures.tenants,
            "oldestWaiting": _stamp(figures.oldest_waiting),
            "lastGrant": _stamp(figures.last_grant),
        }
        if figures.token is not None:
            status["token"] = str(figures.token)
        await self._write("Pool", name, status, conditions)

    async def show(self, kind: str, name: str, conditions: tuple[Condition, ...]) -> None:
        """Writes the conditions of a Lane or a Limit. Raises UnavailableError."""
        await self._write(kind, name, {}, conditions)

    async def _write(
        self, kind: str, name: str, status: dict[str, Any], conditions: tuple[Condition, ...]
    ) -> None:
        shown = self._shown.get((kind, name))
        if shown is None:
            return
        generation = self._generations[kind, name]
        status["observedGeneration"] = generation
        status["conditions"] = _merged(
            shown.get("conditions"), conditions, generation, self._clock.now()
        )
        if all(shown.get(field) == value for field, value in status.items()):
            return
        path = f"{GROUP}/{PLURALS[kind]}/{name}/status"
        patch: dict[str, Any] = {"status": status}
        if "token" in status:
            patch["metadata"] = {"resourceVersion": self._versions[kind, name]}
        answer = await self._client.merge_patch(path, patch)
        reach(Failpoint.AFTER_STATUS)
        if isinstance(answer, Found) and (kind, name) in self._shown:
            self._note((kind, name), answer.body)
        elif isinstance(answer, Refused):
            _log.warning("status refused", kind=kind, name=name, error=answer.message)
        elif isinstance(answer, Changed):
            if kind == "Pool":
                await self._read(name)
            raise UnavailableError(f"{kind} {name}: it was changed meanwhile")

    async def _read(self, pool: str) -> None:
        body = await pool_now(self._client, pool)
        if body is not None and ("Pool", pool) in self._shown:
            self._note(("Pool", pool), body)


def _merged(
    shown: list[dict[str, Any]] | None,
    conditions: tuple[Condition, ...],
    generation: int,
    now: int,
) -> list[dict[str, Any]]:
    """Our conditions with their transition times, and those that somebody else has set."""
    before = {condition["type"]: condition for condition in shown or ()}
    merged = {}
    for condition in conditions:
        status = "True" if condition.true else "False"
        known = before.get(condition.kind, {})
        since = known.get("lastTransitionTime") if known.get("status") == status else None
        merged[condition.kind] = {
            "type": condition.kind,
            "status": status,
            "reason": condition.reason,
            "message": condition.message,
            "observedGeneration": generation,
            "lastTransitionTime": since or timestamp(now),
        }
    foreign = [condition for kind, condition in before.items() if kind not in OF_POOLS]
    return [*merged.values(), *foreign]


def _stamp(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else timestamp(milliseconds)
