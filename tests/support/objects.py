"""A fake of the port Objects: one collection of the API server, with resourceVersions."""

import json
from typing import Any

from kwicket.ports.objects import Changed, Found, Missing, Refused


class FakeObjects:
    """Keeps bodies as JSON, as the wire would."""

    def __init__(self) -> None:
        self.bodies: dict[str, str] = {}
        self.refusal: str | None = None
        """What every write is refused with."""
        self._version = 100

    async def get(self, path: str) -> Found | Missing:
        body = self.bodies.get(path)
        return Missing() if body is None else Found(json.loads(body))

    async def create(self, path: str, body: dict[str, Any]) -> Found | Changed | Refused:
        path = f"{path}/{body['metadata']['name']}"
        if self.refusal is not None:
            return Refused(self.refusal)
        return Changed() if path in self.bodies else self._put(path, body)

    async def replace(self, path: str, body: dict[str, Any]) -> Found | Missing | Changed | Refused:
        if self.refusal is not None:
            return Refused(self.refusal)
        stored = await self.get(path)
        if isinstance(stored, Missing):
            return stored
        sent = body["metadata"].get("resourceVersion")
        if sent != stored.body["metadata"]["resourceVersion"]:
            return Changed()
        return self._put(path, body)

    def _put(self, path: str, body: dict[str, Any]) -> Found:
        self._version += 1
        metadata = body["metadata"] | {"resourceVersion": str(self._version)}
        self.bodies[path] = json.dumps(body | {"metadata": metadata})
        return Found(json.loads(self.bodies[path]))
