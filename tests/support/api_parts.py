"""Parts of the small API server: requests, what may go wrong with them, and bodies of answers."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from msgspec import Struct

_GROUPS = {
    "/api/v1": [("Namespace", "namespaces")],
    "/apis/kwicket.dev/v1alpha1": [("Pool", "pools"), ("Lane", "lanes"), ("Limit", "limits")],
    "/apis/apiextensions.k8s.io/v1": [("CustomResourceDefinition", "customresourcedefinitions")],
}


class Request(Struct, frozen=True):
    """What a client has asked."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any

    @property
    def watch(self) -> bool:
        """Whether it asks for a watch."""
        return "watch" in self.query


class Fault(Struct):
    """What the next requests of one kind get instead of an answer."""

    path: str
    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = {}
    method: str = "GET"
    watch: bool = False
    page: bool = False
    """Whether it is kept for pages after the first."""
    applied: bool = False
    """Whether the request is done before its answer is lost."""
    times: int = 1
    until: asyncio.Event | None = None
    """If given, the request is answered as any other, but only after this is set."""

    def fits(self, request: Request) -> bool:
        """Whether this request gets it."""
        said = self.method, self.path, self.watch, self.page
        asked = request.method, request.path, request.watch, "continue" in request.query
        return said == asked and self.times > 0


HANGS = -1
"""As the status of a fault: there is never an answer."""
DROPS = -2
"""As the status of a fault: the connection is closed instead."""


def discovered(path: str) -> Any:
    """What an API server says that it serves, as far as kopf asks."""
    if path == "/api":
        return {"versions": ["v1"]}
    if path == "/apis":
        named = [group.split("/")[2:] for group in _GROUPS if group.startswith("/apis/")]
        versions = {name: {"version": version} for name, version in named}
        return {
            "groups": [
                {"name": name, "preferredVersion": version, "versions": [version]}
                for name, version in versions.items()
            ]
        }
    if path not in _GROUPS:
        return None
    common = {"singularName": "", "namespaced": False, "verbs": ["list", "watch", "patch"]}
    return {"resources": [{"kind": kind, "name": name} | common for kind, name in _GROUPS[path]]}


def bookmark(version: str) -> bytes:
    """The line of a bookmark."""
    return line_of("BOOKMARK", {"kind": "Job", "metadata": {"resourceVersion": version}})


def selected(body: Any, selector: str) -> bool:
    labels = body["metadata"].get("labels") or {}
    key, equals, value = selector.partition("=")
    return not selector or (labels.get(key) == value if equals else key in labels)


def merged(stored: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    whole = dict(stored) if isinstance(stored, dict) else {}
    for key, value in patch.items():
        if value is None:
            whole.pop(key, None)
        else:
            whole[key] = merged(whole.get(key), value)
    return whole


def line_of(kind: str, body: Any) -> bytes:
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


def status_of(code: int, message: str) -> bytes:
    status = {"kind": "Status", "status": "Failure", "code": code, "message": message}
    return json.dumps(status).encode()


def refusal(code: int, message: str) -> web.Response:
    return web.Response(status=code, body=status_of(code, message), content_type="application/json")
