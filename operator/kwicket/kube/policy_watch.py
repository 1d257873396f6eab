"""The operator's own watch over the policies that guard Jobs from being started past it, and over
the definitions of its kinds.

It reads them by name every few seconds: no watch is needed for a handful of objects that hardly
ever change, and a read says what is there now, where a watch may be silent.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec
import structlog

from kwicket.kube.client import Client
from kwicket.kube.definitions import lacking, path_of
from kwicket.kube.policies import Policy, difference, enforces, policies
from kwicket.kube.schemas import DEFINED
from kwicket.ports.enforcement import IN_FORCE, NOT_READ, Enforcement
from kwicket.ports.errors import UnavailableError
from kwicket.ports.objects import Found

CONFIG_MAP = "kwicket-policies"
"""In the operator's namespace: the policies and bindings as the chart has them, one `.yaml` each,
and in `enforce` whether its values want the bindings to be there."""
EVERY = 10.0
"""Seconds between two readings."""
EVERY_WHILE_OUT = 2.0
"""Seconds between two readings while the policies are not in force."""
PATIENCE = 30.0
"""Seconds for which the last reading counts while there is no other."""
MOST_NAMED = 3
"""Objects that a message names."""

_WAY_OUT = (
    "run helm upgrade with the values of the release (Helm 4: and with --force-conflicts), which"
    " puts the policies back; until then nothing is granted, and what runs goes on"
)
_NEWER = (
    "run helm upgrade with the chart of this version, or kubectl apply -f on its crds/; until then"
    " nothing is granted, and what runs goes on"
)
_OFF = Enforcement(
    "EnforcementOff",
    "enforcement is switched off by the values of the chart: labelled Jobs start by themselves, and"
    " nothing is granted until it is switched on again",
)

_log = structlog.get_logger(__name__)


class PolicyWatch:
    """Tells `enforce` what is known after each reading."""

    def __init__(
        self, client: Client, namespace: str, enforce: Callable[[Enforcement], None]
    ) -> None:
        self._client = client
        self._enforce = enforce
        self._place = f"ConfigMap {namespace}/{CONFIG_MAP}"
        folder = f"/api/v1/namespaces/{quote(namespace, safe='')}/configmaps"
        self._path = f"{folder}/{CONFIG_MAP}"
        self._known = NOT_READ
        self._read_at = float("-inf")
        self._texts: Mapping[str, str] = {}
        self._expected: Sequence[Policy] = ()

    async def run(self) -> None:
        """Reads until cancelled; no answer of the API server ends it."""
        while True:
            await self.read()
            await asyncio.sleep(EVERY if self._known.in_force else EVERY_WHILE_OUT)

    async def read(self) -> None:
        """Reads once, and tells what is known then."""
        try:
            self._known = await self._judged()
            self._read_at = time.monotonic()
        except UnavailableError as error:
            _log.warning("policies not read", error=str(error))
            if time.monotonic() - self._read_at >= PATIENCE:
                message = f"the policies can't be read, and nothing is granted: {error}"
                self._known = Enforcement(NOT_READ.reason, message)
        self._enforce(self._known)

    async def _judged(self) -> Enforcement:
        old, policies = await self._outdated(), await self._judged_policies()
        if old is None:
            return policies
        if policies.in_force:
            return old
        return Enforcement(policies.reason, f"{policies.message}. And {old.message}")

    async def _outdated(self) -> Enforcement | None:
        """What is said of definitions that are older than this version; None if none is."""
        bodies = await asyncio.gather(*(self._body(path_of(kind)) for kind in DEFINED))
        lacks = (lacking(kind, body) for kind, body in zip(DEFINED, bodies, strict=True))
        old = "; ".join(lack for lack in lacks if lack is not None)
        return Enforcement("DefinitionsOutdated", f"{old}: {_NEWER}") if old else None

    async def _judged_policies(self) -> Enforcement:
        found = await self._client.get(self._path)
        if not isinstance(found, Found):
            return _missing(f"{self._place}, which says how the policies should be, is missing")
        try:
            data = msgspec.convert(found.body.get("data") or {}, dict[str, str])
            expected = self._understood(data)
        except ValueError as error:
            return _missing(f"{self._place}, which says how the policies should be: {error}")
        if not enforces(expected):
            return _OFF
        bodies = await asyncio.gather(*(self._body(policy.path) for policy in expected))
        differences = (difference(p, b) for p, b in zip(expected, bodies, strict=True))
        wrong = [one for one in differences if one is not None]
        if wrong and data.get("enforce") == "false":
            return _OFF
        return _missing(*wrong) if wrong else IN_FORCE

    def _understood(self, data: Mapping[str, str]) -> Sequence[Policy]:
        texts = {name: text for name, text in data.items() if name.endswith(".yaml")}
        if texts != self._texts:
            self._expected = policies(text for _, text in sorted(texts.items()))
            self._texts = texts
        return self._expected

    async def _body(self, path: str) -> dict[str, Any] | None:
        found = await self._client.get(path)
        return found.body if isinstance(found, Found) else None


def _missing(*wrong: str) -> Enforcement:
    named = "; ".join(wrong[:MOST_NAMED])
    more = f"; and {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
    return Enforcement("PolicyMissing", f"{named}{more}: {_WAY_OUT}")
