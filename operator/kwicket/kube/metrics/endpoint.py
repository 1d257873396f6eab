"""The endpoint: /metrics over plain HTTP, for whoever the network lets in."""

from importlib.metadata import version

from aiohttp import web
from prometheus_client import CollectorRegistry, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from kwicket.kube.listener import Listener
from kwicket.kube.metrics.catalogue import BUILD
from kwicket.kube.metrics.gauges import Gauges, Sample


class Endpoint(Listener):
    """Listens nowhere if the address is None. What is to be shown is registered in `registry`."""

    def __init__(self, address: str | None, registry: CollectorRegistry) -> None:
        super().__init__(address, {"/metrics": self._metrics})
        self._registry = registry

    async def _metrics(self, _: web.Request) -> web.Response:
        headers = {"Content-Type": CONTENT_TYPE_PLAIN_0_0_4}
        return web.Response(body=generate_latest(self._registry), headers=headers)


def new_registry() -> CollectorRegistry:
    """A registry with what every process shows: its version, memory, processor time and files."""
    disable_created_metrics()  # type: ignore[no-untyped-call]  # or each counter would have a second series that says when it began
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(Gauges((BUILD,), lambda: [Sample(BUILD, 1, (version("kwicket"),))]))
    return registry
