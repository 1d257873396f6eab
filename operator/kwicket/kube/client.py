"""The client: single requests, pages and watches of the API server, over one HTTP session."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
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
LONGEST_LINE = 64 * 1024 * 1024
"""Bytes. A legal 1.4 MB object full of `<` comes as a line of 8.4 MB."""

MERGE_PATCH = "application/merge-patch+json"


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
            return str(json.loads(self.body).get("message", ""))[:500]
        except (ValueError, AttributeError):
            return f"HTTP {self.status}"


class Client:
    """One session for all; the deadline covers every call but watches."""

    def __init__(self, access: Access, session: aiohttp.ClientSession) -> None:
        self._access = access
        self._session = session

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
        headers = {**await self._access.headers(), "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        try:
            async with asyncio.timeout(DEADLINE):
                async with self._session.request(
                    method, self._access.server + path, params=params, data=body, headers=headers
                ) as response:
                    answer = Answer(response.status, await response.read())
                    retry_after = response.headers.get("Retry-After", "0")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnavailableError(f"{method} {path}: {_words(error)}") from error
        if answer.status in (401, 429) or answer.status >= 500:
            message = f"{method} {path}: HTTP {answer.status} {answer.message}"
            raise UnavailableError(message, _seconds(retry_after))
        return answer

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str]
    ) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """The status and the lines of a watch. Raises UnavailableError as `call` does."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5, sock_read=SILENCE)
        try:
            async with self._session.get(
                self._access.server + path,
                params=params,
                headers=await self._access.headers(),
                timeout=timeout,
            ) as response:
                yield response.status, _lines(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnavailableError(f"watch {path}: {_words(error)}") from error

    async def get(self, path: str) -> Found | Missing:
        """One object, read consistently."""
        answer = await self.call("GET", path)
        if answer.status == 404:
            return Missing()
        return _found(answer, f"GET {path}")

    async def create(self, path: str, body: dict[str, Any]) -> Found | Changed | Refused:
        """Makes an object in the collection `path`."""
        answer = await self.call("POST", path, body=_encoded(body))
        if answer.status == 409:
            return Changed()
        return _found_or_refused(answer)

    async def replace(self, path: str, body: dict[str, Any]) -> Found | Missing | Changed | Refused:
        """Replaces an object at the resourceVersion in `body`."""
        answer = await self.call("PUT", path, body=_encoded(body))
        if answer.status == 404:
            return Missing()
        if answer.status == 409:
            return Changed()
        return _found_or_refused(answer)

    async def merge_patch(
        self, path: str, body: dict[str, Any]
    ) -> Found | Missing | Changed | Refused:
        """Merges `body` into an object; a resourceVersion in it is a precondition."""
        answer = await self.call("PATCH", path, body=_encoded(body), content_type=MERGE_PATCH)
        if answer.status == 404:
            return Missing()
        if answer.status == 409:
            return Changed()
        return _found_or_refused(answer)


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Lines of any length up to LONGEST_LINE; the stream reader's own limit is far lower."""
    rest = bytearray()
    async for chunk in response.content.iter_any():
        rest += chunk
        *lines, last = rest.split(b"\n")
        for line in lines:
            if line:
                yield bytes(line)
        rest = last
        if len(rest) > LONGEST_LINE:
            raise aiohttp.ClientPayloadError("a line of the watch is too long")


def _found(answer: Answer, what: str) -> Found:
    if not answer.ok:
        raise UnavailableError(f"{what}: HTTP {answer.status} {answer.message}")
    return Found(json.loads(answer.body))


def _found_or_refused(answer: Answer) -> Found | Refused:
    return Found(json.loads(answer.body)) if answer.ok else Refused(answer.message)


def _encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _seconds(text: str) -> float:
    return float(text) if text.isascii() and text.isdigit() else 0
