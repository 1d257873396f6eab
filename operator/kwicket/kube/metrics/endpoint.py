"""The endpoint: /metrics over plain HTTP, for whoever the network lets in."""

import asyncio
from importlib.metadata import version

from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from kwicket.kube.listener import Listener
from kwicket.kube.metrics.catalogue import BUILD
from kwicket.kube.metrics.gauges import Gauges, Sample

KEPT = 1.0
"""Seconds for which the same text is answered: however many ask, the books are read once."""


class Endpoint(Listener):
    """Listens nowhere if the address is None. What is to be shown is registered in `registry`."""

    def __init__(self, address: str | None, registry: CollectorRegistry) -> None:
        super().__init__(address, {"/metrics": self._metrics})
        self._registry = registry
        self._text, self._until = b"", float("-inf")

    async def _metrics(self, _: web.Request) -> web.Response:
        now = asyncio.get_running_loop().time()
        if now >= self._until:
            self._text = generate_latest(self._registry)
            self._until = now + KEPT
        return web.Response(body=self._text, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})


def new_registry() -> CollectorRegistry:
    """A registry with what every process shows: its version, memory, processor time and files."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # or each counter would have a second series that says when it began
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(Gauges((BUILD,), lambda: [Sample(BUILD, 1, (version("kwicket"),))]))
    return registry
