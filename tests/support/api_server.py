"""A small API server over HTTP, with the semantics of etcd: one counter of versions, lists in
pages of one snapshot, watches from any version that is not forgotten, and preconditions.

What goes wrong is scripted: `fail` answers the next request that fits, and the open watches can
be ended, cut, or told any line.
"""

import asyncio
import copy
import json
import re
import ssl
import uuid
from contextlib import suppress
from typing import Any, Self

from aiohttp import web

from support.api_parts import (
    HANGS,
    Fault,
    Request,
    discovered,
    line_of,
    merged,
    refusal,
    selected,
    status_of,
)
from support.news import News

JOBS = "/apis/batch/v1/jobs"
PODS = "/api/v1/pods"
NAMESPACES = "/api/v1/namespaces"
NODES = "/api/v1/nodes"
EVENTS = "/apis/events.k8s.io/v1/events"
POOLS = "/apis/kwicket.dev/v1alpha1/pools"
LANES = "/apis/kwicket.dev/v1alpha1/lanes"
LIMITS = "/apis/kwicket.dev/v1alpha1/limits"
LEDGERS = "/apis/kwicket.dev/v1alpha1/ledgers"
CONFIG_MAPS = "/api/v1/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/leases"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
KINDS = (JOBS, PODS, NAMESPACES, NODES, EVENTS, POOLS, LANES, LIMITS, LEDGERS, CONFIG_MAPS, LEASES)
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GUARDS = tuple(
    f"{ADMISSION}/{who}admissionpolic{what}"
    for who in ("validating", "mutating")
    for what in ("ies", "ybindings")
)

_PATH = re.compile(
    r"(/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?(/status)?"
)
_CREATED = "2026-11-02T08:00:00Z"


class _Watch:
    def __init__(self, response: web.StreamResponse, transport: asyncio.Transport) -> None:
        self.lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._response = response
        self._transport = transport

    async def serve(self) -> None:
        while (line := await self.lines.get()) is not None:
            await self._response.write(line)

    def cut(self) -> None:
        self._transport.abort()
        self.lines.put_nowait(None)


class ApiServer(News):
    """`async with ApiServer() as api`: it listens at `api.url`."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self._tls = tls
        self.objects: dict[str, dict[tuple[str, str], Any]] = {
            path: {} for path in (*KINDS, *GUARDS, DEFINITIONS)
        }
        """Bodies by the path of their kind, and namespace and name."""
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.url = ""
        self._version = 100
        self._forgotten = 0
        self._history: list[tuple[int, str, Any, Any]] = []
        self._snapshots: dict[str, list[Any]] = {}
        self._watches: dict[_Watch, tuple[str, str]] = {}
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=self._tls)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"{'https' if self._tls else 'http'}://{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.end_watches()
        await self._runner.cleanup()

    # -- what a test does

    def put(self, path: str, body: dict[str, Any]) -> Any:
        """Makes an object, or changes it; the body as stored."""
        body = copy.deepcopy(body)
        metadata: dict[str, Any] = body["metadata"]
        key = metadata.get("namespace", ""), metadata["name"]
        before = self.objects[path].get(key)
        known = before["metadata"] if before else {}
        self._version += 1
        metadata.setdefault("uid", known.get("uid") or str(uuid.uuid4()))
        metadata.setdefault("creationTimestamp", known.get("creationTimestamp", _CREATED))
        metadata.setdefault("managedFields", [{"manager": "test", "operation": "Update"}])
        same = before is not None and before.get("spec") == body.get("spec")
        metadata["generation"] = known.get("generation", 0) + (not same)
        metadata["resourceVersion"] = str(self._version)
        self.objects[path][key] = body
        self._tell(path, before, body)
        return body

    def delete(self, path: str, name: str, namespace: str = "") -> None:
        """Removes an object."""
        before = self.objects[path].pop((namespace, name))
        self._version += 1
        last = copy.deepcopy(before)
        last["metadata"]["resourceVersion"] = str(self._version)
        self._tell(path, last, None)

    def compact(self) -> None:
        """Forgets all history: older versions, and pages under way, are gone (410)."""
        self._forgotten = self._version
        self._history.clear()
        self._snapshots.clear()

    def fail(self, path: str, status: int = 200, **fields: Any) -> Fault:
        """The next requests that fit get this."""
        self.faults.append(Fault(path, status, **fields))
        return self.faults[-1]

    def end_watches(self) -> None:
        """Ends the open watches as a server does after timeoutSeconds."""
        for watch in self._watches:
            watch.lines.put_nowait(None)

    def cut_watches(self, part: bytes = b"") -> None:
        """Cuts the connections of the open watches, in the middle of a line if `part` is one."""
        self.say(part)
        for watch in self._watches:
            asyncio.get_running_loop().call_later(0.02, watch.cut)

    def say(self, line: bytes) -> None:
        """Writes bytes into the open watches."""
        for watch in self._watches:
            watch.lines.put_nowait(line)

    @property
    def watches(self) -> int:
        """How many watches are open."""
        return len(self._watches)

    def asked(self, method: str, path: str, *, watch: bool = False) -> list[Request]:
        """The requests of this kind so far."""
        said = method, path, watch
        return [r for r in self.requests if (r.method, r.path, r.watch) == said]

    # -- what a client sees

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        asked = Request(
            request.method,
            request.path,
            dict(request.query),
            dict(request.headers),
            json.loads(text) if text else None,
        )
        self.requests.append(asked)
        self.stir()
        fault = next((fault for fault in self.faults if fault.fits(asked)), None)
        if fault is None:
            return await self._answer(request, asked)
        fault.times -= 1
        self.stir()
        if fault.until is not None:
            answer = await self._answer(request, asked)
            await fault.until.wait()
            return answer
        if fault.applied:
            await self._answer(request, asked)
        return await self._misbehave(request, fault)

    async def _misbehave(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        if fault.status == HANGS:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        if fault.status < 0:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        body = status_of(fault.status, "as scripted") if fault.body is None else fault.body
        return web.Response(status=fault.status, body=body, headers=dict(fault.headers))

    async def _answer(self, request: web.Request, asked: Request) -> web.StreamResponse:
        known = discovered(asked.path)
        if known is not None:
            return web.json_response(known)
        found = _PATH.fullmatch(asked.path)
        group, namespace, plural, name, part = found.groups() if found else ("", "", "", "", "")
        path = f"{group}/{plural}"
        if path not in self.objects:
            return refusal(404, "the server could not find the requested resource")
        if asked.watch:
            return await self._watch(request, path)
        if asked.method == "GET" and not name:
            return self._list(asked, path, namespace)
        if asked.method == "POST":
            return self._create(asked, path)
        return self._one(asked, path, (namespace or "", name), part or "")

    def _list(self, asked: Request, path: str, namespace: str | None) -> web.Response:
        limit = int(asked.query.get("limit", "0"))
        token = asked.query.get("continue")
        if token is None:
            version, begin = str(self._version), 0
            named = asked.query.get("fieldSelector", "").removeprefix("metadata.name=")
            items = [
                body
                for (n, name), body in sorted(self.objects[path].items())
                if namespace in (None, n) and named in ("", name)
            ]
            selector = asked.query.get("labelSelector", "")
            self._snapshots[version] = [body for body in items if selected(body, selector)]
        else:
            version, _, number = token.partition(":")
            begin = int(number)
        if version not in self._snapshots:
            return refusal(410, "the provided continue parameter is too old")
        items = self._snapshots[version]
        end = begin + limit if limit else len(items)
        metadata = {"resourceVersion": version}
        if end < len(items):
            metadata["continue"] = f"{version}:{end}"
        return web.json_response({"kind": "List", "metadata": metadata, "items": items[begin:end]})

    async def _watch(self, request: web.Request, path: str) -> web.StreamResponse:
        version = int(request.query["resourceVersion"])
        selector = request.query.get("labelSelector", "")
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        assert isinstance(request.transport, asyncio.Transport)
        watch = _Watch(response, request.transport)
        if version < self._forgotten:
            status = json.loads(status_of(410, "too old resource version"))
            watch.lines.put_nowait(line_of("ERROR", status))
            watch.lines.put_nowait(None)
        for at, kind, before, after in self._history:
            if at > version and kind == path:
                self._send(watch, selector, at, before, after)
        self._watches[watch] = path, selector
        self.stir()
        try:
            await watch.serve()
        finally:
            self._watches.pop(watch)
            self.stir()
        return response

    def _create(self, asked: Request, path: str) -> web.Response:
        metadata = asked.body["metadata"]
        metadata.setdefault("name", f"{metadata.get('generateName', '')}{uuid.uuid4().hex[:5]}")
        if (metadata.get("namespace", ""), metadata["name"]) in self.objects[path]:
            return refusal(409, f"{metadata['name']} already exists")
        return web.json_response(self.put(path, asked.body), status=201)

    def _one(
        self, asked: Request, path: str, key: tuple[str, str], part: str
    ) -> web.StreamResponse:
        stored = self.objects[path].get(key)
        if stored is None:
            return refusal(404, f"{key[1]} not found")
        if asked.method == "GET":
            return web.json_response(stored)
        for field in ("resourceVersion", "uid"):
            said = asked.body.get("metadata", {}).get(field)
            if said not in (None, stored["metadata"][field]):
                return refusal(409, f"{field} is {stored['metadata'][field]}, not {said}")
        kept = {"status"} if part else set(asked.body) - {"status"}
        body = {field: value for field, value in asked.body.items() if field in kept}
        after = merged(stored, body) if asked.method == "PATCH" else {**stored, **body}
        return web.json_response(stored if after == stored else self.put(path, after))

    def _tell(self, path: str, before: Any, after: Any) -> None:
        self._history.append((self._version, path, before, after))
        for watch, (kind, selector) in self._watches.items():
            if kind == path:
                self._send(watch, selector, self._version, before, after)
        self.stir()

    def _send(self, watch: _Watch, selector: str, at: int, before: Any, after: Any) -> None:
        was, is_ = (body is not None and selected(body, selector) for body in (before, after))
        if is_:
            watch.lines.put_nowait(line_of("MODIFIED" if was else "ADDED", after))
        elif was:
            metadata = before["metadata"] | {"resourceVersion": str(at)}
            watch.lines.put_nowait(line_of("DELETED", before | {"metadata": metadata}))
