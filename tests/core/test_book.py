"""The book: a submission waits or holds a slot, never both."""

from msgspec.structs import replace

from support.builders import book, lease, ticket


def test_a_job_in_line_that_gets_a_slot_leaves_the_line() -> None:
    pool = book(waiting=[ticket("x-1")], running=[lease("x-1")])
    assert (pool.waiting, pool.running) == (0, 1)
    assert (pool.ticket("x-1"), dict(pool.line())) == (None, {})


def test_a_job_that_is_put_back_in_line_gives_up_its_slot() -> None:
    pool = book(running=[lease("x-1")])
    pool.submit(ticket("x-1"))
    assert (pool.waiting, pool.running, pool.lease("x-1")) == (1, 0, None)


def test_what_is_said_anew_of_a_job_replaces_what_was_known() -> None:
    pool = book(waiting=[ticket("x-1"), ticket("x-2")])
    pool.submit(replace(ticket("x-1"), held=True))
    pool.submit(replace(ticket("x-2"), width=3))
    assert (pool.waiting, dict(pool.line())) == (2, {"alice": 2})
    assert sorted((one.uid, one.held, one.width) for one in pool.tickets()) == [
        ("x-1", True, 1),
        ("x-2", False, 3),
    ]


def test_a_forgotten_job_is_nowhere() -> None:
    pool = book(waiting=[ticket("x-1", held=True), ticket("x-2")], running=[lease("x-3")])
    for uid in ("x-1", "x-2", "x-3", "never seen"):
        pool.forget(uid)
    assert (pool.waiting, pool.running) == (0, 0)
    assert dict(pool.line()) == {}
    pool.check()


def test_two_submissions_of_one_name_are_two() -> None:
    """A Job deleted and made again: the old one's pods may still hold its slot."""
    pool = book(running=[lease("x-1", uid="old")], waiting=[ticket("x-1", uid="new")])
    assert (pool.waiting, pool.running) == (1, 1)
