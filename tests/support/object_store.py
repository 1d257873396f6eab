"""An object store over HTTP with the preconditions of RFC 9110, and ETags as S3 makes them.

An ETag is of the content alone, so the same content has the same one again. Each request waits
for its turn, which a test gives: `Turns` plays every order of the requests of several clients.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Self

from aiohttp import web


class Turns:
    """Lets clients go on one request at a time; `plan` says which of those that wait."""

    def __init__(self, plan: list[int]) -> None:
        self.plan = plan
        self.choices: list[tuple[int, int]] = []
        """Which was taken, and of how many."""
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._news = asyncio.Event()

    async def come(self, client: str) -> None:
        """Returns when it is this client's turn."""
        self._waiting[client] = turn = asyncio.get_running_loop().create_future()
        self._news.set()
        await turn

    async def play(self, clients: Mapping[str, Awaitable[None]]) -> dict[str, BaseException | None]:
        """Runs all to their end; what each raised."""
        tasks = {name: asyncio.ensure_future(client) for name, client in clients.items()}
        for task in tasks.values():
            task.add_done_callback(lambda _: self._news.set())
        while left := [name for name, task in tasks.items() if not task.done()]:
            if len(self._waiting) == len(left):
                self._choose()
            else:
                await self._news.wait()
            self._news.clear()
        return {name: task.exception() for name, task in tasks.items()}

    def next_plan(self) -> list[int] | None:
        """The next order after this one was played; None after the last."""
        choices = list(self.choices)
        while choices:
            taken, of = choices.pop()
            if taken + 1 < of:
                return [*(n for n, _ in choices), taken + 1]
        return None

    def _choose(self) -> None:
        step = len(self.choices)
        taken = self.plan[step] if step < len(self.plan) else 0
        self.choices.append((taken, len(self._waiting)))
        self._waiting.pop(sorted(self._waiting)[taken]).set_result(None)


class ObjectStore:
    """`async with ObjectStore() as store`: its objects are below `store.url`."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.writes: list[bytes] = []
        """Every content that was stored, in order."""
        self.before: Callable[[web.Request], Awaitable[web.Response | None]] | None = None
        """Sees each request first, and may answer it."""
        self.url = ""
        app = web.Application()
        app.router.add_route("GET", "/{key}", self._get)
        app.router.add_route("PUT", "/{key}", self._put)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _get(self, request: web.Request) -> web.Response:
        if self.before and (answer := await self.before(request)):
            return answer
        content = self.objects.get(request.match_info["key"])
        if content is None:
            return web.Response(status=404)
        return web.Response(body=content, headers={"ETag": _etag(content)})

    async def _put(self, request: web.Request) -> web.Response:
        content = await request.read()
        if self.before and (answer := await self.before(request)):
            return answer
        key = request.match_info["key"]
        if not _holds(request.headers, self.objects.get(key)):
            return web.Response(status=412)
        self.objects[key] = content
        self.writes.append(content)
        return web.Response(headers={"ETag": _etag(content)})


def _etag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()}"'


def _holds(headers: Mapping[str, str], content: bytes | None) -> bool:
    """Whether the preconditions of a write do, as in RFC 9110, section 13.2.2."""
    if (wanted := headers.get("If-Match")) is not None:
        return content is not None and (wanted == "*" or _etag(content) in _tags(wanted))
    if (unwanted := headers.get("If-None-Match")) is not None:
        tags = [tag.removeprefix("W/") for tag in _tags(unwanted)]
        return content is None or (unwanted != "*" and _etag(content) not in tags)
    return True


def _tags(header: str) -> list[str]:
    return [tag.strip() for tag in header.split(",")]
