"""The notices port on the real API: events on Jobs, statuses on declared objects."""

from kwicket.kube.events import Events
from kwicket.kube.statuses import Statuses
from kwicket.ports.notices import Condition, Notice, PoolFigures


class KubernetesNotices:
    """Implements ports/notices.py."""

    def __init__(self, events: Events, statuses: Statuses) -> None:
        self._events = events
        self._statuses = statuses

    def tell(self, notice: Notice) -> None:
        """An event on the Job."""
        self._events.tell(notice)

    async def show_pool(
        self, name: str, figures: PoolFigures, conditions: tuple[Condition, ...]
    ) -> None:
        """The Pool's status."""
        await self._statuses.show_pool(name, figures, conditions)

    async def show(self, kind: str, name: str, conditions: tuple[Condition, ...]) -> None:
        """The status of a Lane or a Limit."""
        await self._statuses.show(kind, name, conditions)
