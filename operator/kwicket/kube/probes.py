"""Probes: /healthz says that the loop turns, /readyz that the first lists are in."""

from collections.abc import Callable
from typing import Self

from aiohttp import web


class Probes:
    """A small HTTP server; None listens nowhere."""

    def __init__(self, address: str | None, ready: Callable[[], bool]) -> None:
        self._address = address
        self._ready = ready
        app = web.Application()
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False)

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

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _readyz(self, _: web.Request) -> web.Response:
        if self._ready():
            return web.Response(text="ok")
        return web.Response(status=503, text="the first lists are not complete")
