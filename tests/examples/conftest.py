"""The examples of the pages meet real servers and processes, on a loop whose time is real."""

import asyncio
from collections.abc import Mapping
from typing import Any


def pytest_asyncio_loop_factories() -> Mapping[str, Any]:
    return {"real": asyncio.SelectorEventLoop}
