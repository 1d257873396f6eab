"""The demo, as `make demo` runs it where nobody watches."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(120)
def test_the_demo_shows_the_fair_order_and_leaves_nothing_running(
    own_planes: None, tmp_path: Path
) -> None:
    picture = tmp_path / "demo.svg"
    folder = tmp_path / "plane"
    words = [sys.executable, "-m", "e2e.demo", "--dir", str(folder), "--svg", str(picture)]
    shown = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=110
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "started 3rd" in shown.stdout
    assert "carol starts 3rd instead of 9th" in picture.read_text()
    listed = subprocess.run(
        ["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True
    )
    assert str(folder) not in listed.stdout
