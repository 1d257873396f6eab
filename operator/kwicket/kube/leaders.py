"""Who says that an operator is at work, for whoever must not work beside one."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from kwicket.kube.client import Client
from kwicket.kube.lease import LEASES, MARK, NAME, Record, record
from kwicket.ports.errors import UnavailableError


class Lead(Struct, frozen=True):
    """What one of the Leases says by which operators show that they are at work."""

    namespace: str
    elected: bool
    """Whether it is that of a leader, or the mark of operators without an election."""
    said: Record


class _List(Struct):
    items: list[dict[str, Any]]


async def leads(client: Client) -> Mapping[str, Lead]:
    """By namespace and name, of all namespaces. Raises UnavailableError.

    Whether anybody is at work shows in time alone: a Lease that is held and never changes is that
    of an operator that is gone.
    """
    found = {}
    for name in (NAME, MARK):
        for lease in await _named(client, name):
            namespace = lease["metadata"]["namespace"]
            found[f"{namespace}/{name}"] = Lead(namespace, name == NAME, record(lease))
    return found


async def _named(client: Client, name: str) -> list[dict[str, Any]]:
    answer = await client.call("GET", LEASES, params={"fieldSelector": f"metadata.name={name}"})
    if not answer.ok:
        raise UnavailableError(f"GET {LEASES}: HTTP {answer.status} {answer.message}")
    try:
        return msgspec.json.decode(answer.body, type=_List).items
    except ValueError as error:
        raise UnavailableError(f"GET {LEASES}: no list: {error}") from error
