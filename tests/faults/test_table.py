"""The table of recovery times in the documentation is the one that the model gives."""

import subprocess
import sys
from pathlib import Path

import pytest

from faults.table import PAGE, rewritten, section

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(300)
def test_the_documented_times_are_those_that_the_rows_take() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.faults.table"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert section(PAGE.read_text()) == run.stdout.strip()


def test_only_what_is_between_the_markers_is_written_anew() -> None:
    page = PAGE.read_text()
    assert rewritten(page, section(page)) == page
    assert section(rewritten(page, "| new |")) == "| new |"
