"""What the statuses of declared objects say, and waiting until they do."""

from typing import Any

from e2e import load
from e2e.plane.api import Api, Object


def of_type(body: Object | None, kind: str) -> Object:
    """The condition of this type; empty where the object shows none."""
    conditions = (body or {}).get("status", {}).get("conditions", [])
    return next((c for c in conditions if c["type"] == kind), {})


async def condition(api: Api, plural: str, name: str, wanted: str, kind: str = "Ready") -> Object:
    """A condition of a declared object, once its reason is the wanted one."""
    path = f"{load.GROUP}/{plural}/{name}"
    body = await api.until(path, lambda body: of_type(body, kind).get("reason") == wanted)
    return of_type(body, kind)


async def shown(api: Api, pool: str, **figures: Any) -> Object:
    """A Pool, once its status shows these figures: what is not seen yet is not counted there."""

    def shows(body: Object | None) -> bool:
        status = (body or {}).get("status", {})
        return all(status.get(name) == value for name, value in figures.items())

    body = await api.until(f"{load.GROUP}/pools/{pool}", shows)
    assert body is not None
    return body


async def hold(api: Api, pool: str) -> None:
    """Pauses a Pool that grants, and returns once the operator says that nothing new starts."""
    await load.pause(api, pool, True)
    await condition(api, "pools", pool, "Paused")
