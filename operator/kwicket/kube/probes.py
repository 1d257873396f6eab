"""Probes: /healthz says that the loop turns, /readyz that the first lists are in."""

from collections.abc import Callable

from aiohttp import web

from kwicket.kube.listener import Listener


class Probes(Listener):
    """Listens nowhere if the address is None."""

    def __init__(self, address: str | None, ready: Callable[[], bool]) -> None:
        super().__init__(address, {"/healthz": self._healthz, "/readyz": self._readyz})
        self._ready = ready

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def _readyz(self, _: web.Request) -> web.Response:
        if self._ready():
            return web.Response(text="ok")
        return web.Response(status=503, text="the first lists are not complete")
