"""Checks of an installation: what the API server makes of a few Jobs that are never stored.

Each Job is sent as a dry run, so nothing waits, starts or is counted by it.
"""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

from msgspec import Struct

from kwicket.core.catalog import TENANT_LABEL
from kwicket.kube.client import Answer, Client

_POOLS = "/apis/kwicket.dev/v1alpha1/pools"
_NOWHERE = "kwicket-check-nowhere"
_TENANT = "kwicket-check"
_BOUND = re.compile(rf"belongs to tenant ([^ ,]+), not {_TENANT}\b")
"""What the policy kwicket-tenants says, which asks for no right to read namespaces."""
_BY_WEBHOOK = 'admission webhook "jobs.kwicket.dev"'


class Finding(Struct, frozen=True):
    """One check: what should hold, and what is wrong if it does not."""

    what: str
    wrong: str | None = None
    """What was seen instead, and the way out; None if it holds."""
    warning: str | None = None
    """Why it does not hold, where the installation was meant to be so."""

    def unless(self, value: str) -> "Finding":
        """With a warning instead of a fault: the value says that it need not hold."""
        return (
            Finding(self.what, warning=f"it does not hold, since {value}") if self.wrong else self
        )


class Meant(Struct, frozen=True):
    """What the values of the chart want to be there."""

    enforced: bool = True
    """policies.enforce."""
    mutated: bool = True
    """Whether a policy or the webhook suspends new Jobs."""
    webhook: bool = True
    """webhook.enabled."""
    operator: bool = True
    """operator.replicas is not 0."""


class Checks(Struct, frozen=True):
    """Where Jobs may be tried, and what is to be there."""

    client: Client
    namespace: str
    meant: Meant = Meant()

    async def run(self) -> AsyncIterator[Finding]:
        """One finding a check. Raises UnavailableError if the API server is not to be had."""
        pools = await self.client.call("GET", _POOLS)
        yield _served(pools)
        items = _items(pools)
        async for finding in self._enforced(items):
            yield finding if self.meant.enforced else finding.unless("policies.enforce is false")
        if items:
            operated = _operated(items[0])
            yield operated if self.meant.operator else operated.unless("operator.replicas is 0")

    async def _enforced(self, items: list[dict[str, Any]]) -> AsyncIterator[Finding]:
        pool = {"kwicket.dev/pool": items[0]["metadata"]["name"]} if items else {}
        if self.meant.mutated or not self.meant.enforced:
            yield _held(await self._tried(pool))
        else:
            yield _taken(await self._tried(pool, suspend=True))
        yield _guarded(await self._tried({"kwicket.dev/pool": ""}))
        if self.meant.webhook:
            yield _told(await self._tried({"kwicket.dev/lane": _NOWHERE}))

    async def _tried(self, labels: dict[str, str], **spec: Any) -> Answer:
        """As a Job of the namespace's own tenant, if it has one."""
        answer = await self._posted(labels, spec)
        bound = _BOUND.search(answer.message) if not answer.ok else None
        if bound is None:
            return answer
        return await self._posted(labels | {TENANT_LABEL: bound[1]}, spec)

    async def _posted(self, labels: dict[str, str], spec: dict[str, Any]) -> Answer:
        path = f"/apis/batch/v1/namespaces/{self.namespace}/jobs"
        body = json.dumps(_job(labels, spec)).encode()
        return await self.client.call("POST", path, params={"dryRun": "All"}, body=body)


def _served(pools: Answer) -> Finding:
    what = "Pools are served"
    if pools.ok:
        return Finding(what)
    return Finding(what, f"{pools.message}; install the chart with crds.install=true")


def _held(tried: Answer) -> Finding:
    """The webhook is asked last: what it refuses, as for its namespace, the guard let pass, and the
    guard lets none pass that is not suspended.
    """
    what = "a Job with a tenant is suspended, and its containers get KWICKET_TOKEN"
    if not tried.ok:
        good = _BY_WEBHOOK in tried.message
        return Finding(what, None if good else f"it was refused: {tried.message}")
    spec = json.loads(tried.body)["spec"]
    if not spec.get("suspend"):
        return Finding(what, "it would have started at once: the chart's policies are not there")
    [container] = spec["template"]["spec"]["containers"]
    if all(variable["name"] != "KWICKET_TOKEN" for variable in container.get("env", [])):
        return Finding(what, "it has no KWICKET_TOKEN: neither policy nor webhook changed it")
    return Finding(what)


def _taken(tried: Answer) -> Finding:
    """Where nobody suspends Jobs for their authors."""
    what = "a Job with a tenant that says suspend: true is accepted"
    if not tried.ok:
        return Finding(what, f"it was refused: {tried.message}")
    words = "it is, and one that does not is refused: nobody suspends Jobs for their authors, since"
    words += " webhook.enabled is false and this API server has no MutatingAdmissionPolicy"
    return Finding(what, warning=words)


def _guarded(tried: Answer) -> Finding:
    what = "a Job with an empty label of Kwicket is refused by the policy kwicket-guard"
    if "kwicket-guard" in tried.message and not tried.ok:
        return Finding(what)
    seen = "it was accepted" if tried.ok else f"it was refused by another: {tried.message}"
    return Finding(what, f"{seen}; run helm upgrade to have the policy back")


def _told(tried: Answer) -> Finding:
    what = "the webhook refuses a Job of an unknown lane"
    if not tried.ok and _BY_WEBHOOK in tried.message:
        return Finding(what)
    seen = "the Job was accepted" if tried.ok else f"it was refused by another: {tried.message}"
    return Finding(what, f"{seen}; see the pods and logs of the Deployment kwicket-webhook")


def _operated(pool: dict[str, Any]) -> Finding:
    name, generation = pool["metadata"]["name"], pool["metadata"]["generation"]
    what = f"the operator has seen the Pool {name}"
    if pool.get("status", {}).get("observedGeneration") == generation:
        return Finding(what)
    return Finding(what, "it has not; see the pods and logs of the Deployment kwicket")


def _items(pools: Answer) -> list[dict[str, Any]]:
    """The Pools, the oldest first."""
    items: list[dict[str, Any]] = json.loads(pools.body)["items"] if pools.ok else []
    return sorted(items, key=lambda item: item["metadata"]["creationTimestamp"])


def _job(labels: dict[str, str], spec: dict[str, Any]) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "command": ["true"]}
    labels = {TENANT_LABEL: _TENANT} | labels
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "kwicket-check-", "labels": labels},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
        | spec,
    }
