"""The PostgreSQL of tests: the one at KWICKET_TEST_POSTGRES, or those that are started for the run.

One of each kind of programs that is here, and every test that asks for it runs on each.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.servers import SETTINGS, Programs, Server, Settings, kinds, served

GIVEN = "KWICKET_TEST_POSTGRES"

type Folders = Callable[[str], Path]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "postgres" in metafunc.fixturenames:
        found = ["given"] if os.environ.get(GIVEN) else kinds() or [""]
        metafunc.parametrize("postgres", found, indirect=True, scope="session")


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a PostgreSQL whose user may make databases and schemas."""
    if given := os.environ.get(GIVEN):
        yield given
        return
    with running(request.param) as server:
        yield server.url


@pytest.fixture(scope="session")
def programs() -> Iterator[Programs]:
    """With which tests start servers of their own."""
    with TemporaryDirectory(prefix="kwicket-") as folder:
        yield Programs.of(_first(), Path(folder))


@pytest.fixture
def folders() -> Iterator[Folders]:
    """Makes folders by name whose path is short enough for a socket."""
    with TemporaryDirectory(prefix="kwicket-") as root:
        Path(root).chmod(0o755)

        def made(name: str) -> Path:
            folder = Path(root) / name
            folder.mkdir()
            return folder

        yield made


@contextmanager
def running(kind: str = "", settings: Settings = SETTINGS) -> Iterator[Server]:
    """A server by programs of a kind, by the first that is here without one."""
    with TemporaryDirectory(prefix="kwicket-") as folder:
        programs = Programs.of(kind or _first(), Path(folder))
        own = programs.folder / "server"
        own.mkdir()
        with served(programs, own, settings) as server:
            yield server


def _first() -> str:
    found = kinds()
    if not found:
        pytest.fail(f"no PostgreSQL is here: run `make setup`, or give one by {GIVEN}=URL")
    return found[0]
