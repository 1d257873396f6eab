"""A Kubernetes API client for observers: paths and plain JSON objects, nothing of Kwicket's.

Paths are the API's own, such as `/apis/batch/v1/namespaces/team-a/jobs/sum`.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import msgspec

from e2e.plane.connection import Connection

type Object = dict[str, Any]
type Objects = Mapping[tuple[str, str], Object]

PATCHES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
AGENT = "e2e"
"""How it calls itself to the API server."""
GONE = 410
TOO_MANY = 429
PATIENCE = 30
"""Seconds for which a server that asks for a later try is tried again."""


class ApiError(Exception):
    """The server refused: `status` is the HTTP code, `reason` and `message` its Status object's."""

    def __init__(self, status: int, body: bytes) -> None:
        try:
            answer = msgspec.json.decode(body, type=dict[str, Any])
        except msgspec.MsgspecError:
            answer = {}
        self.status = status
        self.reason = str(answer.get("reason", ""))
        self.message = str(answer.get("message", body[:500].decode(errors="replace")))
        super().__init__(f"{status} {self.reason}: {self.message}")


class Event(NamedTuple):
    """One line of a watch: ADDED, MODIFIED, DELETED or BOOKMARK, and the object."""

    type: str
    object: Object


class Api:
    """Requests as one user; every method raises ApiError for an answer of 400 and above.

    An API server that says 429 has done nothing yet and names the time of the next try, as it
    does for a second after a definition of a resource has changed.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    @classmethod
    @asynccontextmanager
    async def open(cls, kubeconfig: Path, **headers: str) -> AsyncIterator["Api"]:
        """A client as the current user of `kubeconfig`, for the length of the context.

        Each request carries the headers, in whose names `_` stands for `-`.
        """
        to = Connection.read(kubeconfig)
        connector = aiohttp.TCPConnector(ssl=to.tls, limit=0)
        timeout = aiohttp.ClientTimeout(total=None, connect=10)
        more = {"User-Agent": AGENT} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        async with aiohttp.ClientSession(
            to.server, connector=connector, headers=to.headers | more, timeout=timeout
        ) as session:
            yield cls(session)
        await asyncio.sleep(0)  # what was cut is closed by the loop's next turn

    async def get(self, path: str, **query: str) -> Object:
        """One object, or whatever JSON the path serves."""
        return await self._call("GET", path, query)

    async def list(self, path: str, **query: str) -> tuple[list[Object], str]:
        """All objects of a collection, and the resource version to watch from."""
        answer = await self.get(path, **query)
        return answer["items"] or [], answer["metadata"]["resourceVersion"]

    async def create(self, path: str, body: Object, **query: str) -> Object:
        """POST `body` to a collection or to a subresource."""
        return await self._call("POST", path, query, body)

    async def replace(self, path: str, body: Object, **query: str) -> Object:
        """PUT `body` in place of the object."""
        return await self._call("PUT", path, query, body)

    async def patch(self, path: str, body: Any, kind: str = "merge", **query: str) -> Object:
        """Patch the object; `kind` is one of PATCHES."""
        return await self._call("PATCH", path, query, body, PATCHES[kind])

    async def delete(self, path: str, body: Object | None = None, **query: str) -> Object:
        """Delete in the background; `body` holds further DeleteOptions."""
        return await self._call(
            "DELETE", path, query, {"propagationPolicy": "Background"} | (body or {})
        )

    async def watch(self, path: str, version: str, **query: str) -> AsyncGenerator[Event]:
        """Events after `version` until the server closes; ApiError(410) when it is too old."""
        asked = {"allowWatchBookmarks": "true"} | query | {"watch": "1", "resourceVersion": version}
        async with self._session.get(path, params=asked) as answer:
            if answer.status >= 400:
                raise ApiError(answer.status, await answer.read())
            try:
                async for line in _lines(answer.content):
                    yield _checked(msgspec.json.decode(line, type=dict[str, Any]))
            finally:
                _cut(answer)

    async def follow(self, path: str, **query: str) -> AsyncGenerator[Objects]:
        """The collection by (namespace, name): as listed, then after each change, without end."""
        while True:
            items, version = await self.list(path, **query)
            objects = {_key(item): item for item in items}
            yield objects
            try:
                async with aclosing(self.watch(path, version, **query)) as events:
                    async for event in events:
                        if _apply(objects, event):
                            yield objects
            except ApiError as error:
                if error.status not in (GONE, TOO_MANY):
                    raise

    async def until(
        self, path: str, wanted: Callable[[Object | None], bool], *, seconds: float = 30
    ) -> Object | None:
        """Wait by watching until the object at `path` (None when absent) is as wanted; return it.

        Raises TimeoutError, with the object as last seen, after `seconds`.
        """
        collection, _, name = path.rpartition("/")

        def is_so(objects: Objects) -> bool:
            return wanted(_only(objects))

        selector = f"metadata.name={name}"
        return _only(
            await self.until_all(collection, is_so, seconds=seconds, fieldSelector=selector)
        )

    async def until_all(
        self, path: str, wanted: Callable[[Objects], bool], *, seconds: float = 30, **query: str
    ) -> Objects:
        """Wait by watching until the collection, by (namespace, name), is as wanted; return it.

        Raises TimeoutError, with the objects as last seen, after `seconds`.
        """
        seen: Objects = {}
        try:
            async with asyncio.timeout(seconds), aclosing(self.follow(path, **query)) as views:
                async for seen in views:
                    if wanted(seen):
                        break
        except TimeoutError:
            said = f"{path} was not as wanted within {seconds} s: {list(seen.values())}"
            raise TimeoutError(said) from None
        return seen

    async def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Any = None,
        content_type: str = "application/json",
    ) -> Object:
        data = None if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": content_type}
        until = time.monotonic() + PATIENCE
        while True:
            async with self._session.request(
                method, path, params=query, data=data, headers=headers
            ) as answer:
                content = await answer.read()
                later = answer.headers.get("Retry-After") if answer.status == TOO_MANY else None
                if later is None or time.monotonic() > until:
                    if answer.status >= 400:
                        raise ApiError(answer.status, content)
                    return _decoded(content)
            await asyncio.sleep(float(later))


def _cut(answer: aiohttp.ClientResponse) -> None:
    """End a watch now; a polite end of TLS would outlive the session, and often the loop."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()


def _only(objects: Objects) -> Object | None:
    return next(iter(objects.values()), None)


def _decoded(content: bytes) -> Object:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError:
        return {"text": content.decode()}


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Lines of any length: a watched object may be longer than the reader's own line limit."""
    rest = b""
    async for chunk in stream.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line:
                yield line


def _checked(line: dict[str, Any]) -> Event:
    if line["type"] == "ERROR":
        status = line["object"]
        raise ApiError(int(status.get("code", 500)), msgspec.json.encode(status))
    return Event(line["type"], line["object"])


def _apply(objects: dict[tuple[str, str], Object], event: Event) -> bool:
    match event.type:
        case "ADDED" | "MODIFIED":
            objects[_key(event.object)] = event.object
        case "DELETED":
            objects.pop(_key(event.object), None)
        case _:
            return False
    return True


def _key(item: Object) -> tuple[str, str]:
    meta = item["metadata"]
    return meta.get("namespace", ""), meta["name"]
