"""The client: single requests, pages and watches of the API server, over one HTTP session."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from msgspec import Struct

from kwicket.kube.access import Access
from kwicket.ports.errors import UnavailableError
from kwicket.ports.objects import Changed, Found, Missing, Refused

DEADLINE = 15.0
"""Seconds that a single request may take."""
SILENCE = 70.0
"""Seconds that a watch may be silent; bookmarks come about every minute."""
LONGEST = 64 * 1024 * 1024
"""Bytes of an answer, or of a line. A legal 1.4 MB object full of `<` comes as 8.4 MB."""
LONGEST_PAUSE = 60.0
"""Seconds. A server that asks us to wait longer is asked again sooner than it says."""

_NOT_DONE = "failed calling webhook"
"""What an API server says of a write that it has not even tried; after any other failure of its
own, as when its etcd has not answered in time, the write may be applied, or may be so yet."""

MERGE_PATCH = "application/merge-patch+json"


class TooLargeError(UnavailableError):
    """The answer is longer than we can take; to ask for less at once may help."""


class Answer(Struct, frozen=True):
    """An answer below 500 that is no request to slow down."""

    status: int
    body: bytes

    @property
    def ok(self) -> bool:
        """Whether the request was done."""
        return self.status < 300

    @property
    def message(self) -> str:
        """What the API server says about a refusal, at most 500 characters."""
        try:
            message = json.loads(self.body).get("message")
        except (ValueError, AttributeError, RecursionError):
            message = None
        return str(message or f"HTTP {self.status}")[:500]


class Client:
    """One session for all; the deadline covers every call but watches."""

    def __init__(
        self,
        access: Access,
        session: aiohttp.ClientSession,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        """`may_write` is asked right before each write is sent."""
        self._access = access
        self._session = session
        self._may_write = may_write

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        """One request. Raises UnavailableError where the outcome is unknown or to be tried again:
        no connection, no answer in time, HTTP 429 and 5xx, credentials that are not accepted.
        """
        what = f"{method} {path}"
        try:
            async with asyncio.timeout(DEADLINE):
                headers = {**await self._access.headers(), "Accept": "application/json"}
                if body is not None:
                    headers["Content-Type"] = content_type
                    if not self._may_write():
                        raise UnavailableError(f"{what}: this replica does not lead")
                async with self._session.request(
                    method, self._access.server + path, params=params, data=body, headers=headers
                ) as response:
                    answer = Answer(response.status, await _read(response, what))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnavailableError(f"{what}: {_words(error)}") from error
        if answer.status in (401, 429) or answer.status >= 500:
            raise _unavailable(what, answer, response)
        return answer

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of a watch. Raises UnavailableError for every answer but HTTP 200."""
        what = f"watch {path}"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=SILENCE)
        try:
            async with self._session.get(
                self._access.server + path,
                params=params,
                headers=await self._access.headers(),
                timeout=timeout,
            ) as response:
                if response.status != 200:
                    answer = Answer(response.status, await _read(response, what))
                    raise _unavailable(what, answer, response)
                yield _lines(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnavailableError(f"{what}: {_words(error)}") from error

    async def get(self, path: str) -> Found | Missing:
        """One object, read consistently."""
        answer = await self.call("GET", path)
        if answer.status == 404:
            return Missing()
        if not answer.ok:
            raise UnavailableError(f"GET {path}: HTTP {answer.status} {answer.message}")
        return _found(answer, path)

    async def create(self, path: str, body: dict[str, Any]) -> Found | Changed | Refused:
        """Makes an object in the collection `path`."""
        answer = await self.call("POST", path, body=_encoded(body))
        if answer.status == 409:
            return Changed()
        return _found_or_refused(answer, path)

    async def replace(self, path: str, body: dict[str, Any]) -> Found | Missing | Changed | Refused:
        """Replaces an object at the resourceVersion in `body`."""
        return await self._change("PUT", path, body, "application/json")

    async def merge_patch(
        self, path: str, body: dict[str, Any]
    ) -> Found | Missing | Changed | Refused:
        """Merges `body` into an object; a resourceVersion in it is a precondition."""
        return await self._change("PATCH", path, body, MERGE_PATCH)

    async def _change(
        self, method: str, path: str, body: dict[str, Any], content_type: str
    ) -> Found | Missing | Changed | Refused:
        answer = await self.call(method, path, body=_encoded(body), content_type=content_type)
        if answer.status == 404:
            return Missing()
        if answer.status == 409:
            return Changed()
        return _found_or_refused(answer, path)


async def _read(response: aiohttp.ClientResponse, what: str) -> bytes:
    """The whole body. Raises TooLargeError."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > LONGEST:
            raise TooLargeError(f"{what}: the answer is longer than {LONGEST} bytes")
    return bytes(body)


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Lines of any length up to LONGEST; the stream reader's own limit is far lower."""
    line = bytearray()
    async for chunk in response.content.iter_any():
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            line += end
            if line:
                yield bytes(line)
            line.clear()
        line += rest
        if len(line) > LONGEST:
            raise aiohttp.ClientPayloadError("a line of the watch is too long")


def _found(answer: Answer, path: str) -> Found:
    """Raises UnavailableError for a body that is no object: who knows who has answered."""
    try:
        body = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise UnavailableError(f"{path}: the answer is no JSON: {_words(error)}") from error
    if not isinstance(body, dict):
        raise UnavailableError(f"{path}: the answer is no object")
    return Found(body)


def _found_or_refused(answer: Answer, path: str) -> Found | Refused:
    return _found(answer, path) if answer.ok else Refused(answer.message)


def _encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _unavailable(what: str, answer: Answer, response: aiohttp.ClientResponse) -> UnavailableError:
    pause = response.headers.get("Retry-After", "")
    seconds = min(float(pause), LONGEST_PAUSE) if pause.isascii() and pause.isdigit() else 0
    message = f"{what}: HTTP {answer.status} {answer.message}"
    failed = answer.status == 500 and _NOT_DONE in answer.message
    return UnavailableError(message, seconds, failed=failed)
