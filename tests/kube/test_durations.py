"""Durations as Pools and Limits write them."""

import pytest

from kwicket.kube.durations import milliseconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("1h30m", 5400),
        ("90s", 90),
        ("24h", 86400),
        ("1h1m1s", 3661),
        ("8760h", 31536000),
    ],
)
def test_hours_minutes_and_seconds_add_up(text: str, seconds: int) -> None:
    assert milliseconds(text) == seconds * 1000


WRONG = ["", "30", "m", "h", "1d", "-1m", "+1m", "1.5h", "1m1h", "1m1m", " 1m", "1m ", "1m\n"]
WRONG += ["1 m", "\u0663m", "1M", "1e3s", "1_0s", "0x1s", "1" * 10 + "s", "100ms"]


@pytest.mark.parametrize("text", WRONG)
def test_anything_else_is_refused_with_the_way_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match="write hours, minutes, seconds, as in 1h30m"):
        milliseconds(text)
