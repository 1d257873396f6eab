"""Declarations: the Pools, Lanes and Limits that exist, joined into one catalog.

Lists are the truth, made at the start and every few minutes; kopf's events are the hint in between.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from kwicket.core.catalog import Catalog, Declared
from kwicket.core.pools import Lane, Pool
from kwicket.engine.backoff import Backoff
from kwicket.kube import declared
from kwicket.kube.client import Client
from kwicket.kube.declared import NotUnderstood
from kwicket.kube.statuses import GROUP, PLURALS, Statuses
from kwicket.ports.errors import UnavailableError
from kwicket.ports.notices import Condition
from kwicket.ports.objects import Missing

EVERY = 300.0
"""Seconds between two full lists."""

_log = structlog.get_logger(__name__)


class Declarations:
    """Changed by the event loop's thread only."""

    def __init__(
        self,
        client: Client,
        statuses: Statuses,
        declare: Callable[[Catalog], None],
        saw_token: Callable[[str, int], None],
    ) -> None:
        self._client = client
        self._statuses = statuses
        self._declare = declare
        self._saw_token = saw_token
        self._pools: dict[str, Pool] = {}
        self._lanes: dict[str, Lane] = {}
        self._limits: dict[str, Declared] = {}
        self._faults: dict[tuple[str, str], str] = {}
        self._told = asyncio.Event()

    async def load(self) -> None:
        """Lists everything once and declares it. Raises UnavailableError."""
        for kind in PLURALS:
            found = await self._client.get(f"{GROUP}/{PLURALS[kind]}")
            if isinstance(found, Missing):
                raise UnavailableError(
                    f"the API server does not know {PLURALS[kind]}.kwicket.dev: install the CRDs"
                )
            bodies = {body["metadata"]["name"]: body for body in found.body["items"]}
            for name in self._names(kind) - bodies.keys():
                self._drop(kind, name)
            for body in bodies.values():
                self._take(kind, body)
        self._publish()

    async def run(self) -> None:
        """Lists again every few minutes, and says what was not understood, until cancelled."""
        backoff = Backoff(first=1)
        while True:
            try:
                async with asyncio.timeout(EVERY):
                    await self._tell_faults()
            except TimeoutError:
                pass
            try:
                await self.load()
                backoff.reset()
            except UnavailableError as error:
                _log.warning("declarations not listed", error=str(error))
                await backoff.sleep(error.retry_after)

    def seen(self, kind: str, body: Mapping[str, Any]) -> None:
        """An object was created, changed or listed."""
        self._take(kind, body)
        self._publish()

    def gone(self, kind: str, name: str) -> None:
        """An object was deleted."""
        self._drop(kind, name)
        self._publish()

    def _names(self, kind: str) -> set[str]:
        kinds: Mapping[str, Mapping[str, object]] = {
            "Pool": self._pools,
            "Lane": self._lanes,
            "Limit": self._limits,
        }
        return set(kinds[kind]) | {name for known, name in self._faults if known == kind}

    def _take(self, kind: str, body: Mapping[str, Any]) -> None:
        name = body["metadata"]["name"]
        self._drop(kind, name)
        self._statuses.saw(kind, body)
        match kind:
            case "Pool":
                self._pools[name] = declared.pool(body)
                self._take_token(name, body)
            case "Lane":
                self._keep(kind, name, declared.lane(body), self._lanes)
            case _:
                self._keep(kind, name, declared.limit(body), self._limits)

    def _take_token(self, name: str, body: Mapping[str, Any]) -> None:
        token = (body.get("status") or {}).get("token", "")
        if token.isascii() and token.isdigit():
            self._saw_token(name, int(token))

    def _keep[Value](
        self, kind: str, name: str, value: Value | NotUnderstood, values: dict[str, Value]
    ) -> None:
        if isinstance(value, NotUnderstood):
            _log.warning("not understood", kind=kind, name=name, error=value.why)
            self._faults[kind, name] = value.why
            self._told.set()
        else:
            values[name] = value

    def _drop(self, kind: str, name: str) -> None:
        kinds: Mapping[str, dict[str, Any]] = {
            "Pool": self._pools,
            "Lane": self._lanes,
            "Limit": self._limits,
        }
        kinds[kind].pop(name, None)
        self._faults.pop((kind, name), None)
        self._statuses.lost(kind, name)

    def _publish(self) -> None:
        self._declare(Catalog(dict(self._pools), dict(self._lanes), dict(self._limits)))

    async def _tell_faults(self) -> None:
        """Shows on each object what was not understood of it; never returns."""
        while True:
            await self._told.wait()
            self._told.clear()
            for (kind, name), fault in sorted(self._faults.items()):
                condition = Condition("Ready", False, "NotUnderstood", fault)
                try:
                    await self._statuses.show(kind, name, (condition,))
                except UnavailableError as error:
                    _log.warning("status not written", kind=kind, name=name, error=str(error))
