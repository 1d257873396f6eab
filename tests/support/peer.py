"""The PyPI package wicket without an event loop: its store in memory waits for nothing."""

from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any


def answer[T](call: Coroutine[Any, Any, T]) -> T:
    """What a method answers that is written with `async` but waits for nothing."""
    try:
        call.send(None)
    except StopIteration as stop:
        said: T = stop.value
        return said
    raise AssertionError("wicket's store in memory waits for nothing")


def moment(milliseconds: int) -> datetime:
    """So many milliseconds after the beginning of 1970."""
    return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
