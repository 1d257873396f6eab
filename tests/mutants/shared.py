"""What operators whose clusters share a ledger must not leave out: the fault bench must notice.

By histories of several clusters.
"""

from pathlib import Path

from .mutant import Kind, Mutant

ENGINE = Path("operator/kwicket/engine")


def _of(name: str, mistake: str, place: str, text: str, edit: str) -> Mutant:
    return Mutant(name, mistake, Kind.SHARED, place, text, edit, ENGINE)


SHARED = (
    _of(
        "foreign-free",
        "what runs in another cluster takes no slot",
        "share.Share.take",
        "if book.lease(lease.uid) != lease:",
        "if False:",
    ),
    _of(
        "pending-over",
        "a slot that was told of with a start under way is said to be free",
        "share._token",
        "pending[uid].lease if uid in pending",
        "None if uid in pending",
    ),
    _of(
        "start-untold",
        "a start that was sent is not told of when the server that took its grant is lost",
        "sharing.Sharing.tell_all",
        "if one.lease.token not in sent}",
        "}",
    ),
)
"""Each is one line."""

JUDGED_BY_TESTS = {
    "pending-over": "tests/engine/test_share.py",
    "start-untold": "tests/faults/shared/test_found.py",
}
"""Those that need what few seeds draw together, and the test that has it."""
