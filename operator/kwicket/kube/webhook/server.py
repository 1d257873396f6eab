"""The HTTPS server: small, strict, and never the reason why something is allowed.

Only an answer that a path has made says `allowed`; everything else is an HTTP error, after which
the failurePolicy of the webhook's configuration decides.
"""

import asyncio
import contextlib
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Self

import structlog
from aiohttp import web

from kwicket.kube.webhook.door import Door
from kwicket.kube.webhook.paths import Answering
from kwicket.kube.webhook.reviews import Answer, BadReviewError, Outcome
from kwicket.ports.errors import UnavailableError

LONGEST = 32 * 1024 * 1024
"""Bytes of a review. A legal Job of 1.4 MB may come as 8.4 MB of JSON, and an update has two."""
LARGE = 64 * 1024
"""Bytes from which on a review counts as large; few of those are read at the same time."""
AT_ONCE = 4
"""How many large reviews are in memory at the same time."""
MOST = 300
"""How many reviews are under way at the same time, of whatever size; more are turned away."""
READING = 3.0
"""Seconds to read a review, from when there is room for it. An API server sends one in one go."""
DEADLINE = 10.0
"""Seconds to read a review and to answer it. No API server waits longer by default."""
IDLE = 180.0
"""Seconds for which a connection may be idle; API servers close theirs after 90."""
LINGER = 3.0
"""Seconds for which open connections may bring one more review each when the server ends. What an
API server sends on a connection that is just being closed is lost to it."""
GRACE = 10.0
"""Seconds for reviews under way after that."""

TOO_LONG = f"a review has at most {LONGEST} bytes"

OTHER = "other"
"""The path of a request to none of ours."""

type Reviewed = Callable[[str, Outcome, float], None]
"""Takes the path, one of ours or OTHER, what became of the review, and the seconds it took."""
type Result = tuple[Outcome, web.Response]

_log = structlog.get_logger(__name__)


class Server:
    """`async with Server(address, tls, paths)`: it listens; its end waits for what has begun."""

    def __init__(
        self,
        address: str,
        tls: ssl.SSLContext,
        by_path: Mapping[str, Answering],
        reviewed: Reviewed = lambda *_: None,
    ) -> None:
        """`reviewed` hears of every request that has come to an end."""
        self._address = address
        self._by_path = by_path
        self._reviewed = reviewed
        self._large = asyncio.Semaphore(AT_ONCE)
        self._under_way = 0
        self.ending = False
        """Whether it takes no new connections any more."""
        self._server = Door(
            tls, self._handle, keepalive_timeout=IDLE, auto_decompress=False, access_log=None
        )
        self._runner = web.ServerRunner(self._server, shutdown_timeout=GRACE)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._runner.addresses[0][1])

    async def __aenter__(self) -> Self:
        """Starts to listen. Raises OSError if the address is taken or not ours."""
        await self._runner.setup()
        host, _, port = self._address.rpartition(":")
        site = web.TCPSite(self._runner, host.strip("[]"), int(port), backlog=1024)
        try:
            await site.start()
        except OSError:
            await self._runner.cleanup()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for site in self._runner.sites:
            await site.stop()
        self.ending = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while self._server.connections:  # noqa: ASYNC110 - connections tell nobody
                    await asyncio.sleep(0.02)
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        begun = time.monotonic()
        self._under_way += 1
        try:
            outcome, response = await self._result(request)
        finally:
            self._under_way -= 1
        path = request.path if request.path in self._by_path else OTHER
        self._reviewed(path, outcome, time.monotonic() - begun)
        if self.ending:
            response.force_close()
        return response

    async def _result(self, request: web.BaseRequest) -> Result:
        try:
            async with asyncio.timeout(DEADLINE):
                answer = await self._answer(request)
                return answer.outcome, _json(answer.body)
        except BadReviewError as error:
            return self._refusal(request, error.status, str(error))
        except web.RequestPayloadError as error:
            return self._refusal(request, 400, f"the body broke off: {error}")
        except UnavailableError as error:
            return self._refusal(request, 503, str(error))
        except TimeoutError:
            return self._refusal(request, 408, f"no whole review within {DEADLINE:g} s")
        except Exception:
            _log.exception("review not answered", path=request.path[:100])
            text = "a fault of Kwicket's: see its log"
            return Outcome.UNANSWERED, web.Response(status=500, text=text)

    async def _answer(self, request: web.BaseRequest) -> Answer:
        answering = self._answering(request)
        length = request.content_length
        if length is not None and length <= LARGE:
            return await answering(await _read(request))
        async with self._large:
            return await answering(await _read(request))

    def _answering(self, request: web.BaseRequest) -> Answering:
        """Who answers. Raises BadReviewError for what need not be read."""
        if self._under_way > MOST:
            raise BadReviewError(429, f"{MOST} reviews are under way")
        answering = self._by_path.get(request.path)
        if answering is None:
            raise BadReviewError(404, "there is no such path")
        if request.method != "POST":
            raise BadReviewError(405, "reviews are sent by POST")
        if request.content_type != "application/json" or "Content-Encoding" in request.headers:
            raise BadReviewError(415, "reviews are plain application/json")
        if (request.content_length or 0) > LONGEST:
            raise BadReviewError(413, TOO_LONG)
        return answering

    def _refusal(self, request: web.BaseRequest, status: int, why: str) -> Result:
        _log.warning("no answer to a review", path=request.path[:100], status=status, why=why[:300])
        headers = {"Allow": "POST"} if status == 405 else {}
        outcome = Outcome.UNANSWERED if status in (408, 503) else Outcome.INVALID
        return outcome, web.Response(status=status, text=why, headers=headers)


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")


async def _read(request: web.BaseRequest) -> bytes:
    """The whole body. Raises BadReviewError if it is too long, whatever was said before, or too
    long in coming.
    """
    if request.content.is_eof():  # nearly always: reviews come in one go
        return request.content.read_nowait()
    body = bytearray()
    try:
        async with asyncio.timeout(READING):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > LONGEST:
                    raise BadReviewError(413, TOO_LONG)
    except TimeoutError as error:
        raise BadReviewError(408, f"the review did not come within {READING:g} s") from error
    return bytes(body)
