"""A token is believed if a pool can have given it by now, whatever clock its ledger began by."""

import pytest

from kwicket.core.state import HIGHEST_TOKEN
from kwicket.core.tokens import HEADROOM, believable

NOW = 1_796_000_000_000
YEAR = 365 * 24 * 3600 * 1000


@pytest.mark.parametrize(
    ("token", "believed"),
    [
        (1, True),
        (NOW + 16, True),
        (NOW + 99 * YEAR, True),
        (NOW + HEADROOM, True),
        (NOW + HEADROOM + 1, False),
        (HIGHEST_TOKEN - 1, False),
        (HIGHEST_TOKEN, False),
    ],
)
def test_a_token_is_believed_up_to_a_century_ahead(token: int, believed: bool) -> None:
    assert believable(token, NOW, 1) is believed


def test_a_clock_that_begins_at_1970_believes_the_tokens_of_today() -> None:
    assert believable(NOW, 0, 1)


def test_what_a_pool_has_given_itself_is_always_believed() -> None:
    version = NOW + HEADROOM + 1000
    assert believable(version, NOW, version)
    assert not believable(version + 1, NOW, version)


def test_after_the_highest_token_that_is_believed_nearly_all_are_left() -> None:
    assert HIGHEST_TOKEN - (NOW + HEADROOM) > 0.99999 * HIGHEST_TOKEN
