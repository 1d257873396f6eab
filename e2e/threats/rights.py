"""Which rights the chart gives its accounts, and which of them were used, by the audit log."""

from pathlib import Path

import msgspec
import yaml

from e2e.plane.api import AGENT

ACCOUNTS = ("kwicket", "kwicket-webhook", "kwicket-certificates")
"""Each holds a ClusterRole of its name, and may hold a Role of that name too."""
PREFIX = "system:serviceaccount:kwicket-system:"
HANDS = (AGENT, "kubectl")
"""How those call themselves that write as an account by hand."""
DECISION = "authorization.k8s.io/decision"

type Right = tuple[str, str, str]
"""Account, GROUP/RESOURCE, verb."""


class Target(msgspec.Struct, rename="camel"):
    """The object that a request is about."""

    resource: str = ""
    subresource: str = ""
    api_group: str = ""


class User(msgspec.Struct):
    """Who asks."""

    username: str


class Request(msgspec.Struct, rename="camel"):
    """A line of the log."""

    verb: str
    user: User
    annotations: dict[str, str] = {}
    user_agent: str = ""
    object_ref: Target | None = None


def granted(manifest: str) -> set[Right]:
    """What the roles of a release allow."""
    return {
        (role["metadata"]["name"], f"{group}/{resource}", verb)
        for role in yaml.safe_load_all(manifest)
        if role and role["kind"] in ("ClusterRole", "Role")
        if role["metadata"]["name"] in ACCOUNTS
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


class Used:
    """What the accounts did by their own programs, and were allowed to, as the log grows."""

    def __init__(self, audit: Path) -> None:
        self._audit = audit
        self._read = 0
        self._rights: set[Right] = set()

    def so_far(self) -> set[Right]:
        """All of it."""
        with self._audit.open("rb") as log:
            log.seek(self._read)
            lines = log.read().splitlines(keepends=True)
        for line in (line for line in lines if line.endswith(b"\n")):
            self._read += len(line)
            self._rights |= _rights(msgspec.json.decode(line, type=Request))
        return self._rights


def _rights(request: Request) -> set[Right]:
    """None of a request that needs no right to an object."""
    account, target = request.user.username.removeprefix(PREFIX), request.object_ref
    by_hand = request.user_agent.startswith(HANDS)
    if (
        target is None
        or account not in ACCOUNTS
        or by_hand
        or request.annotations[DECISION] != "allow"
    ):
        return set()
    part = f"/{target.subresource}" if target.subresource else ""
    return {(account, f"{target.api_group}/{target.resource}{part}", request.verb)}
