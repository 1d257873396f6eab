"""Caches: the Pools, Lanes, Limits and namespaces as last heard of, and how to hear the latest.

Reviews are judged by the caches at once. Only what would be refused is judged again by fresh lists,
so that a Job which comes right after its Pool is not refused because a watch is a moment late.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from kwicket.core.catalog import Catalog, Declared
from kwicket.core.jobs import NamespaceSeen
from kwicket.core.pools import Lane, Pool
from kwicket.kube import declared, wire
from kwicket.kube.client import Client
from kwicket.kube.cluster import NAMESPACES
from kwicket.kube.declared import NotUnderstood
from kwicket.kube.objects import namespace_seen
from kwicket.kube.reflector import Reflector, Resource, Sink
from kwicket.kube.statuses import GROUP
from kwicket.kube.webhook.judgement import Figures
from kwicket.ports.errors import UnavailableError
from kwicket.ports.objects import Missing

GAP = 0.5
"""Seconds from one round of fresh lists to the next, however many reviews ask for them."""
PATIENCE = 1.5
"""Seconds that a review waits for fresh lists; the API server waits for the review meanwhile."""

type Body = dict[str, Any]


class _Metadata(Struct, rename="camel"):
    name: str
    creation_timestamp: str


class Caches:
    """Changed by the event loop only."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._pools: dict[str, Pool] = {}
        self._lanes: dict[str, Lane] = {}
        self._limits: dict[str, Declared] = {}
        self._namespaces: dict[str, NamespaceSeen] = {}
        self.catalog = Catalog(self._pools, self._lanes, self._limits)
        """A view: it shows what is known now."""
        self.figures: dict[str, Figures] = {}
        """By Pool, where the operator has written its status."""
        self._of_namespaces = Reflector(client, NAMESPACES)
        self._declarations = {
            plural: Reflector(client, _bodies(plural)) for plural in ("pools", "lanes", "limits")
        }
        self._lists = asyncio.Lock()
        self._begun = float("-inf")

    @property
    def reflectors(self) -> tuple[Reflector[Any, Any], ...]:
        """All that feed it."""
        return (*self._declarations.values(), self._of_namespaces)

    @property
    def synced(self) -> bool:
        """Whether every kind was listed once."""
        return all(reflector.synced.is_set() for reflector in self.reflectors)

    def namespace(self, name: str) -> NamespaceSeen | None:
        """A namespace; None if it is not known."""
        return self._namespaces.get(name)

    async def run(self) -> None:
        """Lists and watches until cancelled."""
        names = self._namespaces
        of_namespaces = Sink(self._see_namespace, lambda gone: _forget(gone.name, names))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._of_namespaces.run(of_namespaces))
            for plural, sink in self._sinks().items():
                group.create_task(self._declarations[plural].run(sink))

    async def refresh(self, namespace: str) -> bool:
        """Takes in lists begun after this call, and the namespace; False if they are not to be had
        in time.
        """
        try:
            async with asyncio.timeout(PATIENCE):
                await self._list_again(time.monotonic())
                await self._look(namespace)
        except (UnavailableError, TimeoutError):
            return False
        return True

    async def _list_again(self, asked: float) -> None:
        async with self._lists:
            if self._begun >= asked:
                return
            await asyncio.sleep(self._begun + GAP - time.monotonic())
            begun = time.monotonic()
            await asyncio.gather(*(kind.relist() for kind in self._declarations.values()))
            self._begun = begun

    async def _look(self, namespace: str) -> None:
        found = await self._client.get(f"{NAMESPACES.path}/{quote(namespace, safe='')}")
        if isinstance(found, Missing):
            self._namespaces.pop(namespace, None)
            return
        try:
            self._see_namespace(namespace_seen(msgspec.convert(found.body, wire.Namespace)))
        except ValueError as error:
            raise UnavailableError(f"namespace {namespace} is not understood: {error}") from error

    def _see_namespace(self, seen: NamespaceSeen) -> None:
        self._namespaces[seen.name] = seen

    def _sinks(self) -> Mapping[str, Sink[Body]]:
        pools, figures = self._pools, self.figures
        return {
            "pools": Sink(self._see_pool, lambda b: _forget(_name(b), pools, figures)),
            "lanes": Sink(self._see_lane, lambda b: _forget(_name(b), self._lanes)),
            "limits": Sink(self._see_limit, lambda b: _forget(_name(b), self._limits)),
        }

    def _see_pool(self, body: Body) -> None:
        name = _name(body)
        self._pools[name] = declared.pool(body)
        figures = _figures(body)
        if figures is not None:
            self.figures[name] = figures

    def _see_lane(self, body: Body) -> None:
        _keep(_name(body), declared.lane(body), self._lanes)

    def _see_limit(self, body: Body) -> None:
        _keep(_name(body), declared.limit(body), self._limits)


def _bodies(plural: str) -> Resource[Body, Body]:
    return Resource(f"{GROUP}/{plural}", dict[str, Any], _checked, _name)


def _checked(body: Body) -> Body:
    """Raises ValueError for what has no name or stamp, so that a sink may rely on them."""
    msgspec.convert(body.get("metadata"), _Metadata)
    return body


def _name(body: Body) -> str:
    return str(body["metadata"]["name"])


def _figures(body: Body) -> Figures | None:
    """None if the operator has not written them, or not as we know them."""
    status = body.get("status") or {}
    try:
        return msgspec.convert(status, Figures) if "waiting" in status else None
    except ValueError:
        return None


def _forget(name: str, *values: dict[str, Any]) -> None:
    for of_kind in values:
        of_kind.pop(name, None)


def _keep[Value](name: str, value: Value | NotUnderstood, values: dict[str, Value]) -> None:
    """What is not understood is as good as not there, as for the operator."""
    if isinstance(value, NotUnderstood):
        values.pop(name, None)
    else:
        values[name] = value
