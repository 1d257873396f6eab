"""A share: what the other clusters are told of this one's Jobs."""

from kwicket.core.book import Book
from kwicket.core.state import State
from kwicket.engine.share import Share
from kwicket.ports.backlog import Elsewhere, Freed, News
from support.builders import START, intent, jobs, rules

SENT = intent("a-1", token=7)


def test_a_slot_that_was_told_of_while_its_grant_is_pending_is_not_over() -> None:
    """As after all was told: a start that was sent counts as taken then."""
    share, book = Share(), Book(rules(jobs(1)), State(7), START)
    book.occupy(SENT.lease)
    share.told(News(running=(SENT.lease,)))
    assert share.news({"a-1"}, book, {"a-1": SENT}, START) == News()


def test_a_slot_whose_grant_was_given_back_is_over() -> None:
    share, book = Share(), Book(rules(jobs(1)), State(7), START)
    share.told(News(running=(SENT.lease,)))
    assert share.news({"a-1"}, book, {}, START) == News(over=(Freed(SENT.lease, START),))
    later = intent("a-1", token=8)
    assert share.news({"a-1"}, book, {"a-1": later}, START) == News(
        over=(Freed(SENT.lease, START),)
    )


def test_a_grant_that_was_seen_and_ended_before_it_was_told_has_started() -> None:
    """Else it would leave the page as one that was given back."""
    share, book = Share(), Book(rules(jobs(1)), State(7), START)
    share.started(SENT.lease)
    told = share.news({"a-1"}, book, {}, START)
    assert told == News(over=(Freed(SENT.lease, START),))
    share.told(told)
    assert share.news({"a-1"}, book, {}, START) == News()


def test_a_grant_that_was_seen_and_runs_is_not_over() -> None:
    share, book = Share(), Book(rules(jobs(1)), State(7), START)
    share.started(SENT.lease)
    book.occupy(SENT.lease)
    told = share.news({"a-1"}, book, {}, START)
    assert told == News(running=(SENT.lease,))
    share.told(told)
    book.forget("a-1")
    assert share.news({"a-1"}, book, {}, START) == News(over=(Freed(SENT.lease, START),))


def test_a_grant_that_is_seen_once_more_is_over_once() -> None:
    """As after a page was read again that has it still."""
    share, book = Share(), Book(rules(jobs(1)), State(7), START)
    share.told(News(running=(SENT.lease,)))
    share.started(SENT.lease)
    told = share.news({"a-1"}, book, {}, START)
    assert told == News(over=(Freed(SENT.lease, START),))
    share.told(told)
    share.started(SENT.lease)
    assert share.news({"a-1"}, book, {}, START + 9) == News()


def test_what_was_never_told_of_is_over_since_its_end_also_if_all_is_told_anew() -> None:
    share, book = Share(), Book(rules(jobs(1)), State(7), START)
    share.started(SENT.lease)
    book.occupy(SENT.lease)
    share.touch(["a-1"], book, START + 5, over=True)
    book.forget("a-1")
    share.forget_told(book)
    assert share.untold() == {"a-1"}
    assert share.news({"a-1"}, book, {}, START + 9).over == (Freed(SENT.lease, START + 5),)


def test_all_that_there_is_is_asked_for_again_if_it_was_not_taken_in() -> None:
    """Changes of another server may have the numbers of those that were."""
    share, book = Share(), Book(rules(jobs(1)), State(7), START)
    share.take(Elsewhere(upto=9), book)
    share.hear(Elsewhere(upto=5, whole=True))
    assert share.upto == 0
    share.take(Elsewhere(upto=5, whole=True), book)
    share.hear(Elsewhere(upto=6, whole=False))
    assert share.upto == 5
