"""A pytest plugin for the runs on mutants: it writes down each test that fails.

It refuses to test any other core than that of the tree which pytest runs in, and keeps Hypothesis
from shrinking what it found: that a test fails is enough.
"""

from pathlib import Path

import pytest
from hypothesis import Phase, settings

import kwicket

DRAWN = ("test_bound", "test_differential", "test_peer", "test_properties")
"""The files whose histories are drawn: they come last, so that a test which says what is wrong
notices a mistake before one which only says that something is."""


class Witness:
    """Writes into one file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a test that failed, or whose set-up did."""
        if report.failed:
            with self._path.open("a") as file:
                file.write(f"{report.nodeid}\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write."""
    parser.addoption("--witness", type=Path, help="the file for the ids of the failed tests")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the drawn histories last."""
    items.sort(key=lambda item: item.path.stem in DRAWN)


def pytest_configure(config: pytest.Config) -> None:
    """Checks which core is tested, and starts to write."""
    if config.rootpath not in Path(str(kwicket.__file__)).parents:
        raise pytest.UsageError(f"these tests would run on {kwicket.__file__}")
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("witness", settings(), phases=phases)
    settings.load_profile("witness")
    config.pluginmanager.register(Witness(config.option.witness))
