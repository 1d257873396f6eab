"""Declarations: the Pools, Lanes and Limits that exist, joined into one catalog.

Lists are the truth, made at the start and every few minutes; kopf's events are the hint in between.
"""

import asyncio
import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from kwicket.core.catalog import Catalog, Declared
from kwicket.core.pools import Lane, Pool, Shown
from kwicket.engine.backoff import Backoff
from kwicket.kube import declared
from kwicket.kube.client import Client
from kwicket.kube.declared import NotUnderstood
from kwicket.kube.shown import shown_by
from kwicket.kube.statuses import GROUP, PLURALS, Statuses
from kwicket.ports.errors import UnavailableError
from kwicket.ports.leadership import Leadership
from kwicket.ports.notices import Condition
from kwicket.ports.objects import Missing

EVERY = 300.0
"""Seconds between two full lists."""
SOON = 10.0
"""Seconds after kopf has begun until the next: what went while it began, it does not tell."""

_log = structlog.get_logger(__name__)


class Declarations:
    """Changed by the event loop's thread only."""

    def __init__(
        self,
        client: Client,
        statuses: Statuses,
        declare: Callable[[Catalog], None],
        saw_status: Callable[[str, Shown], None],
        leadership: Leadership,
    ) -> None:
        self._client = client
        self._statuses = statuses
        self._declare = declare
        self._saw_status = saw_status
        self._leadership = leadership
        self._pools: dict[str, Pool] = {}
        self._lanes: dict[str, Lane] = {}
        self._limits: dict[str, Declared] = {}
        self._kinds: Mapping[str, dict[str, Any]] = {
            "Pool": self._pools,
            "Lane": self._lanes,
            "Limit": self._limits,
        }
        self._faults: dict[tuple[str, str], str] = {}
        self._declared: Catalog | None = None
        self._hints: list[Callable[[], None]] | None = None
        self._told = asyncio.Event()
        self._begun = asyncio.Event()
        self._listing = asyncio.Lock()

    async def load(self) -> None:
        """Lists everything once and declares it, or nothing of it. Raises UnavailableError.

        A hint that came while the lists were on their way may be newer than they are.
        """
        async with self._listing:
            hints = self._hints = []
            try:
                listed = {kind: await self._list(kind) for kind in PLURALS}
            finally:
                self._hints = None
        for kind, bodies in listed.items():
            for name in self._names(kind) - bodies.keys():
                self._drop(kind, name)
            for body in bodies.values():
                self._take(kind, body)
        for hint in hints:
            hint()
        self._publish()

    async def _list(self, kind: str) -> dict[str, Mapping[str, Any]]:
        plural = PLURALS[kind]
        found = await self._client.get(f"{GROUP}/{plural}")
        if isinstance(found, Missing):
            raise UnavailableError(
                f"the API server does not know {plural}.kwicket.dev: install the CRDs"
            )
        if "items" not in found.body:
            raise UnavailableError(f"{plural}: the answer is no list")
        return {body["metadata"]["name"]: body for body in found.body["items"] or ()}

    async def run(self) -> None:
        """Lists again every few minutes, and says what was not understood, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tell_faults(), name="faults")
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(EVERY):
                        await self._begun.wait()
                        await asyncio.sleep(SOON)
                self._begun.clear()
                await self._load_again()

    async def served(self) -> None:
        """Returns once the API server serves all three kinds; kopf, which would not look for them
        again, may begin then.
        """
        await self._load_again()
        self._begun.set()

    async def _load_again(self) -> None:
        """Lists until it has worked."""
        backoff = Backoff(first=1)
        while True:
            try:
                return await self.load()
            except UnavailableError as error:
                _log.warning("declarations not listed", error=str(error))
                await backoff.sleep(error.retry_after)

    def seen(self, kind: str, body: Mapping[str, Any]) -> None:
        """An object was created, changed or listed."""
        self._hear(functools.partial(self._take, kind, body))

    def gone(self, kind: str, name: str) -> None:
        """An object was deleted."""
        self._hear(functools.partial(self._drop, kind, name))

    def _hear(self, hint: Callable[[], None]) -> None:
        hint()
        self._publish()
        if self._hints is not None:
            self._hints.append(hint)

    def _names(self, kind: str) -> set[str]:
        return set(self._kinds[kind]) | {name for known, name in self._faults if known == kind}

    def _take(self, kind: str, body: Mapping[str, Any]) -> None:
        name = body["metadata"]["name"]
        self._drop(kind, name)
        self._statuses.saw(kind, body)
        match kind:
            case "Pool":
                self._pools[name] = declared.pool(body)
                self._saw_status(name, shown_by(body))
            case "Lane":
                self._keep(kind, name, declared.lane(body), self._lanes)
            case _:
                self._keep(kind, name, declared.limit(body), self._limits)

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
        self._kinds[kind].pop(name, None)
        self._faults.pop((kind, name), None)
        self._statuses.lost(kind, name)

    def _publish(self) -> None:
        """Declares what is known now, unless nothing has changed: statuses do so all the time."""
        catalog = Catalog(dict(self._pools), dict(self._lanes), dict(self._limits))
        if catalog != self._declared:
            self._declared = catalog
            self._declare(catalog)

    async def _tell_faults(self) -> None:
        """Shows on each object what was not understood of it; never returns."""
        while True:
            await self._told.wait()
            await self._leadership.gained()
            self._told.clear()
            for (kind, name), fault in sorted(self._faults.items()):
                condition = Condition("Ready", False, "NotUnderstood", fault)
                try:
                    await self._statuses.show(kind, name, (condition,))
                except UnavailableError as error:
                    _log.warning("status not written", kind=kind, name=name, error=str(error))
