"""A small plain HTTP server for what the cluster's own machinery asks: probes and metrics."""

import asyncio
from collections.abc import Mapping
from typing import Self

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware


class Listener:
    """`async with Listener(address, by_path)`: it answers GET; None listens nowhere.

    One request after the other, and everybody else in the loop runs between any two: aiohttp alone
    answers all that a connection has sent at one go.
    """

    def __init__(self, address: str | None, by_path: Mapping[str, Handler]) -> None:
        self._address = address
        app = web.Application(middlewares=[_one_by_one()])
        for path, handler in by_path.items():
            app.router.add_get(path, handler)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False)

    @property
    def port(self) -> int | None:
        """Where it listens."""
        addresses = self._runner.addresses
        return int(addresses[0][1]) if addresses else None

    async def __aenter__(self) -> Self:
        """Starts to listen. Raises OSError if the address is taken or not ours."""
        await self._runner.setup()
        if self._address is not None:
            host, _, port = self._address.rpartition(":")
            try:
                await web.TCPSite(self._runner, host.strip("[]"), int(port)).start()
            except OSError:
                await self._runner.cleanup()
                raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()


def _one_by_one() -> Middleware:
    turn = asyncio.Lock()

    @web.middleware
    async def in_turn(request: web.Request, handler: Handler) -> web.StreamResponse:
        async with turn:
            await asyncio.sleep(0)
            return await handler(request)

    return in_turn
