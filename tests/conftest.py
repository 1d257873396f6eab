"""Every test here runs without a cluster, and its event loop's time costs nothing."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import settings

from support.loops import virtual_loops

pytest.register_assert_rewrite(
    "support.api_contract",
    "support.backlog_contract",
    "support.contract",
    "support.silence_contract",
)
pytest_plugins = [
    "support.postgres",
    "support.databases",
    "support.logs",
    "support.pooler",
    "support.tls",
    "support.twins",
]

settings.register_profile("quick", max_examples=60, deadline=None, derandomize=True)
settings.load_profile("quick")


def pytest_asyncio_loop_factories() -> Mapping[str, Any]:
    return virtual_loops()
