"""The API server's answers: lists in pages of one snapshot, preconditions, patches and policies."""

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from faults.store import EVENTS, JOBS, LEDGERS, PODS, UID_LABEL, Body, Store, Stored
from support.api_parts import merged, selected

TOKEN = "kwicket.dev/token"  # noqa: S105  # an annotation's name
TENANT = "kwicket.dev/tenant"

FORGETFUL = 3
"""Of so many lists of a kind one is forgotten before its second page where a server forgets:
compactions are rare, and lists short.
"""

_PATH = re.compile(
    r"(?:/api/|/apis/)(v1|[^/]+/[^/]+)(?:/namespaces/([^/]+))?/([a-z]+)(?:/([^/]+))?(/status)?"
)


class Place(Struct, frozen=True):
    """What a path names."""

    kind: str
    namespace: str
    name: str
    status: bool


class Asked(Struct, frozen=True):
    """A request, and who sent it."""

    method: str
    place: Place
    params: Mapping[str, str]
    body: Any
    by: str
    heard: int

    @property
    def writes(self) -> bool:
        """Whether it may change something that matters."""
        return self.method != "GET" and self.place.kind != EVENTS


class Reply(Struct, frozen=True):
    """A status and a body."""

    status: int
    body: bytes


@lru_cache(maxsize=4096)
def place(path: str) -> Place:
    """What a path names. Raises AssertionError for one that no API server has."""
    if path.startswith("/api/v1/namespaces") and path.count("/") < 5:
        return Place("v1/namespaces", "", path[len("/api/v1/namespaces/") :], False)
    found = _PATH.fullmatch(path)
    assert found is not None, path
    group, namespace, plural, name, status = found.groups()
    return Place(f"{group}/{plural}", namespace or "", name or "", bool(status))


class Server:
    """Answers at once; who asks may wait for the answer, or never get it."""

    def __init__(self, store: Store, *, forgets: bool = False) -> None:
        """One that `forgets` says of every few lists that they are too old to go on with."""
        self.store = store
        self.forgets = forgets
        self._begun: Counter[str] = Counter()
        self._forgotten: set[str] = set()
        self.denied: set[str] = set()
        """Names of Jobs whose start somebody's webhook refuses."""
        self._snapshots: dict[str, list[Stored]] = {}
        self._lists: dict[tuple[str, str, str], tuple[int, list[Stored]]] = {}
        """What was listed last, and after how many changes of that kind."""

    def answer(self, asked: Asked) -> Reply:
        """What becomes of a request when it reaches the server."""
        if asked.method == "GET":
            return self._one(asked) if asked.place.name else self._list(asked)
        if asked.method == "POST":
            return self._create(asked)
        return self._change(asked)

    def _one(self, asked: Asked) -> Reply:
        where = asked.place
        found = self.store.get(where.kind, (where.namespace, where.name))
        return refusal(404, f"{where.name} not found") if found is None else _whole(found)

    def _list(self, asked: Asked) -> Reply:
        where = asked.place
        limit, token = int(asked.params.get("limit", "0")), asked.params.get("continue")
        if token is None:
            name, begin = f"{self.store.version}.{len(self._snapshots)}", 0
            items = self._items(asked)
            if limit and len(items) > limit:
                self._snapshots[name] = items
                self._begun[where.kind] += 1
                if self.forgets and self._begun[where.kind] % FORGETFUL == 0:
                    self._forgotten.add(name)
        else:
            name, _, number = token.partition(":")
            begin, items = int(number), self._snapshots.get(name, [])
            if name in self._forgotten or int(name.partition(".")[0]) < self.store.compacted:
                return refusal(410, "the provided continue parameter is too old")
        end = begin + limit if limit else len(items)
        metadata = {"resourceVersion": name.partition(".")[0]}
        if end < len(items):
            metadata["continue"] = f"{name}:{end}"
        head = b'{"kind":"List","metadata":' + msgspec.json.encode(metadata) + b',"items":['
        return Reply(200, head + b",".join(item.json() for item in items[begin:end]) + b"]}")

    def _items(self, asked: Asked) -> list[Stored]:
        where = asked.place.kind, asked.place.namespace, asked.params.get("labelSelector", "")
        changes = len(self.store.by_kind.get(where[0], ()))
        known = self._lists.get(where)
        if known is None or known[0] != changes:
            known = self._lists[where] = changes, self._listed(*where)
        return known[1]

    def _listed(self, kind: str, namespace: str, selector: str) -> list[Stored]:
        if kind == PODS and selector.startswith(f"{UID_LABEL}="):
            return list(self.store.pods_of.get(selector.partition("=")[2], {}).values())
        found = sorted(self.store.objects.get(kind, {}).items())
        return [
            stored
            for (space, _), stored in found
            if namespace in ("", space) and selected(stored.body, selector)
        ]

    def _create(self, asked: Asked) -> Reply:
        if asked.place.kind == EVENTS:
            return Reply(201, b"{}")
        body = asked.body
        key = body["metadata"].get("namespace", ""), body["metadata"]["name"]
        if self.store.get(asked.place.kind, key) is not None:
            return refusal(409, f"{key[1]} already exists")
        return _whole(self.store.put(asked.place.kind, body, asked.by, asked.heard), 201)

    def _change(self, asked: Asked) -> Reply:
        where, body = asked.place, asked.body
        key = where.namespace, where.name
        stored = self.store.get(where.kind, key)
        if stored is None:
            return refusal(404, f"{where.name} not found")
        for field, code in (("resourceVersion", 409), ("uid", 422)):
            said, known = body.get("metadata", {}).get(field), stored.body["metadata"][field]
            if said not in (None, known):
                return refusal(code, f"{field} is {known}, not {said}")
        after = self._changed(asked, stored)
        why = self._objection(where.kind, stored.body, after)
        if why is not None:
            return refusal(422 if why.startswith("invalid") else 403, why)
        if after == stored.body:
            return _whole(stored)
        return _whole(self.store.put(where.kind, after, asked.by, asked.heard))

    def _changed(self, asked: Asked, stored: Stored) -> Body:
        kept = {"status"} if asked.place.status else set(asked.body) - {"status"}
        sent = {field: value for field, value in asked.body.items() if field in kept}
        if asked.method == "PATCH":
            made: Body = merged(stored.body, sent)
            return made
        return stored.body | sent

    def _objection(self, kind: str, before: Body, after: Body) -> str | None:
        """What validation and the policies say against a change."""
        if kind == LEDGERS and int(after["spec"]["version"]) < int(before["spec"]["version"]):
            return "invalid: the version never falls"
        if kind != JOBS or after.get("spec") == before.get("spec"):
            return None
        if after["spec"].get("template") != before["spec"].get("template") and not mutable(before):
            return "invalid: spec.template: field is immutable"
        managed = TENANT in after["metadata"].get("labels", {})
        if managed and before["spec"]["suspend"] and not after["spec"]["suspend"]:
            if token_of(after) <= token_of(before):
                return f"token {token_of(after)} is not higher than {token_of(before)}"
            if after["metadata"]["name"] in self.denied:
                return "somebody's webhook refuses it"
        return None


def mutable(job: Body) -> bool:
    """Whether a suspended Job's template may be changed (Kubernetes 1.36 and later)."""
    status = job.get("status", {})
    never = "startTime" not in status
    return bool(job["spec"]["suspend"]) and (
        never or (is_true(job, "Suspended") and not active(job))
    )


def active(job: Body) -> int:
    """How many pods the Job says it has."""
    return int(job.get("status", {}).get("active", 0))


def is_true(body: Body, condition: str) -> bool:
    """Whether a condition is True."""
    conditions = body.get("status", {}).get("conditions", ())
    return any(c["type"] == condition and c["status"] == "True" for c in conditions)


def token_of(body: Body) -> int:
    """The token that a Job or a pod carries, 0 if none."""
    return int((body["metadata"].get("annotations") or {}).get(TOKEN, "0"))


def refusal(code: int, message: str) -> Reply:
    """An answer that says no."""
    status = {"kind": "Status", "status": "Failure", "code": code, "message": message}
    return Reply(code, msgspec.json.encode(status))


def _whole(stored: Stored, status: int = 200) -> Reply:
    return Reply(status, stored.json())
