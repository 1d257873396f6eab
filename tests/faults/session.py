"""As much of aiohttp's session as the real client uses, on the model's network."""

from collections.abc import AsyncIterator, Mapping
from typing import Self

import aiohttp
import msgspec

from faults.network import Link
from faults.server import Asked, place
from faults.watch import Watch

HANGS = 3600.0
"""Seconds after which what hangs is given up by the world, too."""


class Session:
    """As much of aiohttp's session as the client uses."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None,
        data: bytes | None,
        headers: Mapping[str, str],
    ) -> "_Exchange":
        """A single request."""
        body = None if data is None else msgspec.json.decode(data)
        link = self._link
        asked = Asked(method, place(path), params or {}, body, link.process, link.heard)
        return _Exchange(link, asked)

    def get(
        self,
        path: str,
        *,
        params: Mapping[str, str],
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
    ) -> "Watch":
        """A watch."""
        return Watch(self._link, place(path).kind, params, timeout.sock_read or HANGS)


class _Exchange:
    def __init__(self, link: Link, asked: Asked) -> None:
        self._link = link
        self._asked = asked
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.content = self

    async def __aenter__(self) -> Self:
        reply, self.headers = await self._link.exchange(self._asked)
        self.status, self._body = reply.status, reply.body
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def iter_any(self) -> AsyncIterator[bytes]:
        yield self._body
