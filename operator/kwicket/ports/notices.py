"""Notices: what users are told about a Job or a declared object. Nothing depends on them."""

from typing import Protocol

from msgspec import Struct

from kwicket.core.jobs import JobSeen
from kwicket.core.reasons import Reason


class Notice(Struct, frozen=True):
    """One sentence about a Job."""

    job: JobSeen
    reason: Reason
    sentence: str
    warning: bool = False
    key: str = ""
    """Two notices of one Job with the same reason and key are one."""


class PoolFigures(Struct, frozen=True):
    """What a Pool's status says, at one moment."""

    waiting: int
    running: int
    tenants: int
    oldest_waiting: int | None
    """When the oldest Job in line was submitted, in milliseconds since 1970."""
    last_grant: int | None
    token: int | None


class Condition(Struct, frozen=True):
    """A condition of a declared object, as Kubernetes shows it."""

    kind: str
    """Its type, such as `Ready`."""
    true: bool
    reason: str
    message: str


class Notices(Protocol):
    """Best effort, never awaited by a decision."""

    def tell(self, notice: Notice) -> None:
        """Takes a notice for delivery; drops it if too many wait."""
        ...

    async def show_pool(
        self, name: str, figures: PoolFigures, conditions: tuple[Condition, ...]
    ) -> None:
        """Writes a Pool's status, if it differs. Raises UnavailableError."""
        ...

    async def show(self, kind: str, name: str, conditions: tuple[Condition, ...]) -> None:
        """Writes the conditions of a Lane or a Limit, if they differ. Raises UnavailableError."""
        ...
