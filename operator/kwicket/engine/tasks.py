"""How the engine starts something that runs beside it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol


class Spawn(Protocol):
    """Starts a coroutine as a named task of the engine; its failure ends the engine."""

    def __call__(self, work: Coroutine[Any, Any, None], /, *, name: str) -> asyncio.Task[None]: ...
