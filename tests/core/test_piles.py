"""Piles: what surfaces first goes first, also among entries that are equal."""

from kwicket.core.entries import Entry
from kwicket.core.piles import SMALL, Deck
from support.builders import ticket


def entry(key: int) -> Entry:
    """An entry of one Job; a dead one and a live one of it are equal."""
    return Entry(key, 1, "x", None, ticket(), ageing=True)


def sorted_deck(*keys: int) -> Deck:
    """A deck whose entries are in order already."""
    deck = Deck()
    deck.loose += [entry(key) for key in keys]
    deck.first()
    return deck


def test_entries_surface_by_their_keys_whenever_they_came() -> None:
    deck = sorted_deck(*range(0, 4 * SMALL, 2))
    deck.loose += [entry(key) for key in range(1, 4 * SMALL, 2)]
    seen = []
    while (first := deck.first()) is not None:
        seen.append(first.key)
        deck.drop_first()
    assert seen == list(range(4 * SMALL))


def test_of_equal_entries_the_one_that_was_first_is_dropped() -> None:
    deck = sorted_deck(*range(SMALL))
    deck.loose.append(entry(0))
    first = deck.first()
    following = deck.drop_first()
    assert following is not None
    assert (following.key, following is first) == (0, False)
    assert all(one is not first for one in deck.entries())
