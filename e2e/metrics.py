"""The metrics of an operator beside the cluster."""

import asyncio
import socket

import aiohttp
from prometheus_client.parser import text_string_to_metric_families


class Metrics:
    """What Prometheus would read of one operator."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            place = f"127.0.0.1:{server.getsockname()[1]}"
        self.options = ("--metrics", place)
        """What the operator has to be started with."""
        self._url = f"http://{place}/metrics"

    async def scrape(self) -> dict[str, dict[frozenset[tuple[str, str]], float]]:
        """Each series by its name and labels."""
        async with aiohttp.ClientSession() as session, session.get(self._url) as answer:
            assert answer.status == 200
            text = await answer.text()
        found: dict[str, dict[frozenset[tuple[str, str]], float]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
        return found

    async def number(self, name: str, **labels: str) -> float | None:
        """One number; None if it is not shown."""
        return (await self.scrape()).get(name, {}).get(frozenset(labels.items()))

    async def becomes(self, wanted: float, name: str, **labels: str) -> None:
        """Waits until a number is this one: what is answered may be a second old."""
        async with asyncio.timeout(5):
            while await self.number(name, **labels) != wanted:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.1)
