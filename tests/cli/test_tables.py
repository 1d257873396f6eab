"""Tables: times and numbers as people read them."""

import pytest

from kwicket.cli.tables import duration, numbers


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0s"),
        (0.04, "0.0s"),
        (59.94, "59.9s"),
        (60, "1m00s"),
        (3599.4, "59m59s"),
        (3600, "1h00m"),
        (172_799, "47h59m"),
        (172_800, "2d00h"),
        (6_379_389, "73d20h"),
    ],
)
def test_a_time_is_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_lines_in_a_row_are_a_range() -> None:
    assert numbers([9, 3, 7, 8]) == "3, 7-9"
    assert numbers([]) == ""
