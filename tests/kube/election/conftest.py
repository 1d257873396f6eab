"""Elections are about time, so here too it costs nothing."""

from collections.abc import Mapping
from typing import Any

from support.loops import virtual_loops


def pytest_asyncio_loop_factories() -> Mapping[str, Any]:
    return virtual_loops()
