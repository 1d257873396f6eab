"""How many pods of several clusters certainly ran at one moment, from their APIs and nothing else.

Two APIs have no moment in common. A pod that one list shows alive, and the next list of the same
cluster too, was alive all between them, and so at any moment at which another cluster was listed.
"""

import asyncio
from collections.abc import Sequence

from e2e.plane.api import Api


class Census:
    """Lists one cluster after the other, round after round, until cancelled."""

    def __init__(self, apis: Sequence[Api], namespace: str) -> None:
        self._apis = apis
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self.peak = 0
        """The most that certainly ran at once, so far."""
        self.rounds = 0

    async def run(self) -> None:
        """Counts for ever."""
        before: list[set[str]] = [await self._alive(api) for api in self._apis]
        while True:
            now = [await self._alive(api) for api in self._apis]
            # At the moment of the last list of the former round, all that is in both of a cluster.
            self.peak = max(self.peak, sum(len(a & b) for a, b in zip(before, now, strict=True)))
            before = now
            self.rounds += 1
            await asyncio.sleep(0)

    async def _alive(self, api: Api) -> set[str]:
        pods, _ = await api.list(self._path)
        over = {"Succeeded", "Failed"}
        return {p["metadata"]["uid"] for p in pods if p["status"].get("phase") not in over}
