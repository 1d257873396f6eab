"""Single objects of the Kubernetes API, as far as a ledger that lives there needs them."""

from typing import Any, Protocol

from msgspec import Struct


class Found(Struct, frozen=True):
    """An object as the API server returned it."""

    body: dict[str, Any]


class Missing(Struct, frozen=True):
    """There is no such object."""


class Changed(Struct, frozen=True):
    """It exists already, or its resourceVersion is no longer the one that was sent."""


class Refused(Struct, frozen=True):
    """The API server refused the write for good, in its own words."""

    message: str


class Objects(Protocol):
    """Reads and writes of one object by its path. Each raises UnavailableError."""

    async def get(self, path: str) -> Found | Missing:
        """The newest version of the object."""
        ...

    async def create(self, path: str, body: dict[str, Any]) -> Found | Changed | Refused:
        """Makes it; `path` is the collection's."""
        ...

    async def replace(self, path: str, body: dict[str, Any]) -> Found | Missing | Changed | Refused:
        """Replaces it at the resourceVersion that `body` carries."""
        ...
