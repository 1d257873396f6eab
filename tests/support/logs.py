"""A command that is run in the process of the tests configures its logs."""

import logging
from collections.abc import Iterator

import pytest
import structlog


@pytest.fixture
def own_logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a command does to the logs ends with its test."""
    root, before = logging.getLogger(), structlog.get_config()
    level = root.level
    monkeypatch.setattr(root, "handlers", [])
    yield
    root.setLevel(level)
    structlog.configure(**before)
