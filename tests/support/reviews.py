"""Admission reviews as an API server sends them, a server that answers them, and its client."""

import base64
import copy
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp

from kwicket.kube.certificates import Certificate, issue
from kwicket.kube.webhook.certificates import Certificates
from kwicket.kube.webhook.paths import Answering
from kwicket.kube.webhook.reviews import Answer
from kwicket.kube.webhook.server import Reviewed, Server

RESOURCES = {
    "Job": ("batch", "v1", "jobs"),
    "Pool": ("kwicket.dev", "v1alpha1", "pools"),
    "Lane": ("kwicket.dev", "v1alpha1", "lanes"),
    "Limit": ("kwicket.dev", "v1alpha1", "limits"),
}
HEADERS = {"Content-Type": "application/json"}


def job(tenant: str | None = "alice", **spec: Any) -> dict[str, Any]:
    """A Job of one container, as the API server shows it to admission, with its defaults."""
    container = {"name": "main", "image": "busybox", "resources": {}}
    template = {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    defaults = {
        "parallelism": 1,
        "completions": 1,
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "template": template,
    }
    labels = {} if tenant is None else {"kwicket.dev/tenant": tenant}
    metadata = {"name": "sum", "namespace": "team", "labels": labels}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": defaults | spec}


def review(
    new: Any, old: Any = None, user: str = "alice", kind: str = "Job", **request: Any
) -> dict[str, Any]:
    """A review of the creation of `new`, or of its update from `old`."""
    group, version, plural = RESOURCES[kind]
    said = {
        "uid": "0fc5b1d9-a7f4-4d0b-9f2c-7f5d7d1f3b11",
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": plural},
        "namespace": new["metadata"].get("namespace", ""),
        "operation": "CREATE" if old is None else "UPDATE",
        "userInfo": {"username": user, "groups": ["system:authenticated"]},
        "object": new,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": said | request,
    }


def encoded(body: Any) -> bytes:
    """As the API server writes it."""
    return json.dumps(body, separators=(",", ":")).encode()


def response(answer: bytes | Answer) -> dict[str, Any]:
    """What an answer says, with its patch as a list of operations."""
    whole = json.loads(answer.body if isinstance(answer, Answer) else answer)
    assert whole["apiVersion"] == "admission.k8s.io/v1"
    assert whole["kind"] == "AdmissionReview"
    said: dict[str, Any] = whole["response"]
    assert said["uid"] == review(job())["request"]["uid"]
    if "patch" in said:
        assert said["patchType"] == "JSONPatch"
        said["patch"] = json.loads(base64.b64decode(said["patch"]))
    return said


def patched(body: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    """The object after a JSON patch that adds to or removes from objects."""
    result = copy.deepcopy(body)
    for operation in operations:
        *way, last = (
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
        )
        place: Any = result
        for part in way:
            place = place[int(part) if isinstance(place, list) else part]
        if operation["op"] == "add":
            place[last] = operation["value"]
        else:
            del place[last]
    return result


@cache
def pair(name: str) -> Certificate:
    """A certificate for localhost, the same one for the same name, such as `old` or `new`."""
    return issue(("localhost",), datetime.now(UTC))


def certificates(folder: Path, name: str = "old") -> Certificates:
    """The pair of this name, as files of the folder."""
    put(folder, name)
    return Certificates(folder / "tls.crt", folder / "tls.key")


def put(folder: Path, name: str, parts: tuple[str, ...] = ("crt", "key")) -> None:
    """Puts the pair of this name, or a part of it, in the place of what is in the folder."""
    for part in parts:
        content = pair(name).key if part == "key" else pair(name).chain
        (folder / f"tls.{part}").write_bytes(content)


def trust(*names: str) -> ssl.SSLContext:
    """A client that trusts these certificates, and no others."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for name in names:
        context.load_verify_locations(cadata=pair(name).authorities.decode())
    return context


@asynccontextmanager
async def serving(
    paths: Mapping[str, Answering], tls: ssl.SSLContext, reviewed: Reviewed = lambda *_: None
) -> AsyncIterator[aiohttp.ClientSession]:
    """A server of these paths, and a session with it."""
    server = Server("127.0.0.1:0", tls, paths, reviewed)
    async with server, session(server.port) as client:
        yield client


@asynccontextmanager
async def session(port: int, *trusted: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A session with a server on this port."""
    connector = aiohttp.TCPConnector(limit=0, ssl=trust(*trusted or ("old", "new")))
    async with aiohttp.ClientSession(f"https://localhost:{port}", connector=connector) as client:
        yield client
