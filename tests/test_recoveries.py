"""What cluster tests have measured is kept, and becomes the table of docs/reliability.md."""

import re
from pathlib import Path

import pytest

from e2e import recoveries
from e2e.recoveries import Recovery, keep, kept, written

ROOT = Path(__file__).parents[1]
SLOW = Recovery("10", "silence", 69.6, "test_silence")
QUICK = Recovery("8", "a reset", 1.04, "test_reset")
EMPTY = f"before\n{recoveries.BEGIN}\nold\n{recoveries.END}\nafter"


def test_a_later_run_replaces_what_it_measured_again_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "build" / "recoveries.json"
    keep(file, [SLOW, QUICK])
    again = Recovery("8", "a reset", 2.5, "test_reset")
    keep(file, [again])
    assert kept(file) == [SLOW, again]


def test_rows_stand_in_the_order_of_the_matrix_between_the_marks() -> None:
    assert written(EMPTY, [SLOW, QUICK]).splitlines() == [
        "before",
        recoveries.BEGIN,
        *recoveries.HEAD,
        "| 8 | a reset | 1.0 s | `test_reset` |",
        "| 10 | silence | 69.6 s | `test_silence` |",
        recoveries.END,
        "after",
    ]


def test_a_page_without_marks_is_left_alone() -> None:
    with pytest.raises(ValueError, match="the marks"):
        written("nothing", [QUICK])


def test_the_page_names_tests_that_there_are() -> None:
    page = (ROOT / "docs" / "reliability.md").read_text()
    _, _, table = page.partition(recoveries.BEGIN)
    named = set(re.findall(r"`(test_\w+)`", table.partition(recoveries.END)[0]))
    tests = "".join(path.read_text() for path in (ROOT / "e2e").rglob("test_*.py"))
    assert named
    assert {name for name in named if f"def {name}(" not in tests} == set()
