"""The database's clock: what an answer said, and the time that has passed since."""

import time

import pytest

from kwicket_storage.clock import DatabaseClock


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The machine's monotonic clock, in seconds."""
    at = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: at[0])
    return at


def test_it_goes_on_from_what_an_answer_said(passed: list[float]) -> None:
    clock = DatabaseClock()
    clock.saw(2_000_000_000_000)
    passed[0] += 1.5
    assert clock.now() == 2_000_000_001_500


def test_it_never_goes_back(passed: list[float]) -> None:
    clock = DatabaseClock()
    clock.saw(2_000_000_000_000)
    before = clock.now()
    clock.saw(1_999_999_000_000)
    assert clock.now() == before
    passed[0] += 1001
    assert clock.now() == 2_000_000_001_000


def test_before_any_answer_it_is_the_machines(passed: list[float]) -> None:
    assert DatabaseClock().now() > 1_700_000_000_000
