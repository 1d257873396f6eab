"""What tells a cluster from all others: the UID of its namespace kube-system."""

import msgspec
from msgspec import Struct

from kwicket.kube.client import Client
from kwicket.kube.patience import answered
from kwicket.ports.errors import UnavailableError

PATH = "/api/v1/namespaces"
NAME = "kube-system"


class _Metadata(Struct):
    uid: str


class _Namespace(Struct):
    metadata: _Metadata


class _List(Struct):
    items: list[_Namespace]


async def identity_of(client: Client) -> str:
    """Asks the API server until it answers."""
    return await answered(lambda: asked_identity(client))


async def asked_identity(client: Client) -> str:
    """Asks once, by a list, which is what the operator may do with namespaces.

    Raises UnavailableError.
    """
    answer = await client.call("GET", PATH, params={"fieldSelector": f"metadata.name={NAME}"})
    if not answer.ok:
        raise UnavailableError(f"GET {PATH}: HTTP {answer.status} {answer.message}")
    try:
        [found] = msgspec.json.decode(answer.body, type=_List).items
    except ValueError as error:
        raise UnavailableError(f"GET {PATH}: no namespace {NAME}: {error}") from error
    return found.metadata.uid
