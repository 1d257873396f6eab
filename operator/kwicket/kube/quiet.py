"""Whether all is quiet: no operator of a cluster is at work, and nothing that one sent arrives yet.

Nobody's stamps are compared with a clock: what changes while we look is a sign of life, and what an
operator has sent before we began to look has arrived, or never will, when we end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping

from msgspec import Struct

from kwicket.engine.sent import LONGEST_WAY
from kwicket.kube.leaders import Lead
from kwicket.kube.lease import MARK, NAME

QUIET = LONGEST_WAY
"""Seconds for which nothing may change."""
LOOK = 5.0
"""Seconds between two looks."""


class Signs(Struct, frozen=True):
    """What operators leave behind while they are at work."""

    leads: Mapping[str, Lead] = {}
    """Their Leases, by namespace and name."""
    ledgers: Mapping[str, str] = {}
    """The resourceVersion of the Ledger of each pool."""
    alive: Mapping[str, str] = {}
    """The last sign of life in each pool that is shared in PostgreSQL."""


async def at_work(look: Callable[[], Awaitable[Signs]]) -> str | None:
    """Who is at work and how to end it; None after nothing has changed for long enough.

    Who ends meanwhile may have sent something right before: it is waited for as long again.
    """
    now = asyncio.get_running_loop().time
    before, end = await look(), now() + QUIET
    while (left := end - now()) > 0:
        await asyncio.sleep(min(LOOK, left))
        after = await look()
        who = next(_changes(before, after), None)
        if who is not None:
            return who
        if after != before:
            before, end = after, now() + QUIET
    return None


def _changes(before: Signs, after: Signs) -> Iterator[str]:
    """A Lease that was given back is no sign of life, nor is anything that is gone."""
    for key, lead in sorted(after.leads.items()):
        if lead.said.holder and lead != before.leads.get(key):
            yield _leader(lead)
    for pool, version in sorted(after.ledgers.items()):
        if version != before.ledgers.get(pool):
            yield f"somebody writes the Ledger {pool}: end all operators of this cluster"
    for pool, stamp in sorted(after.alive.items()):
        if stamp != before.alive.get(pool):
            yield f"an operator of this cluster gives signs of life in pool {pool}: end it"


def _leader(lead: Lead) -> str:
    holder, namespace = lead.said.holder, lead.namespace
    if lead.elected:
        return (
            f"{holder} leads in namespace {namespace}:"
            f" kubectl -n {namespace} scale deployment kwicket --replicas 0"
            f" ({_else(namespace, NAME)})"
        )
    return (
        f"{holder} works in namespace {namespace} without an election:"
        f" end that process, or scale its deployment to 0 ({_else(namespace, MARK)})"
    )


def _else(namespace: str, name: str) -> str:
    """What to do about a Lease of that name that is none of an operator."""
    return (
        f"or, where no operator is, end who writes the Lease {namespace}/{name},"
        " or take the right to write it away"
    )
