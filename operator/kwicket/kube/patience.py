"""Patience: what an operator can't begin without is asked for until the API server answers."""

from collections.abc import Awaitable, Callable

import structlog

from kwicket.engine.backoff import Backoff
from kwicket.ports.errors import UnavailableError

_log = structlog.get_logger(__name__)


async def answered[Answer](ask: Callable[[], Awaitable[Answer]]) -> Answer:
    """The first answer that is none of UnavailableError."""
    backoff = Backoff(first=0.5)
    while True:
        try:
            return await ask()
        except UnavailableError as error:
            _log.warning("waiting for the API server", error=str(error))
            await backoff.sleep(error.retry_after)
