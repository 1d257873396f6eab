"""What a Pool's status shows of its tokens, and how a Pool is read consistently."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kwicket.core.pools import Shown
from kwicket.kube.client import Client
from kwicket.kube.objects import token_of
from kwicket.ports.errors import UnavailableError

POOLS = "/apis/kwicket.dev/v1alpha1/pools"


class _Pools(msgspec.Struct):
    items: list[dict[str, Any]] | None


def shown_by(body: Mapping[str, Any]) -> Shown:
    """What this Pool's status shows."""
    token = token_of((body.get("status") or {}).get("token"))
    return Shown(body["metadata"].get("uid", ""), token or 0)


async def pool_now(client: Client, name: str) -> Mapping[str, Any] | None:
    """The Pool as it is now, None if there is none. Raises UnavailableError.

    By a consistent list of this one: Pools may be listed, and none read by name.
    """
    params = {"fieldSelector": f"metadata.name={name}"}
    answer = await client.call("GET", POOLS, params=params)
    if not answer.ok:
        raise UnavailableError(f"Pool {name}: {answer.message}")
    try:
        items = msgspec.json.decode(answer.body, type=_Pools).items
    except (ValueError, RecursionError) as error:
        raise UnavailableError(f"Pool {name}: the answer is no list: {error}") from error
    return next((one for one in items or () if one["metadata"]["name"] == name), None)
