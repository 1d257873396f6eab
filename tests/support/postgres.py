"""The PostgreSQL of tests: of the newest and of the oldest kind of programs that is here.

Tests with the mark `each_version` run on each kind. KWICKET_TEST_POSTGRES has the URL of one to
take instead, or the kinds for all tests, such as `14,16`.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.programs import Programs, kinds
from support.servers import SETTINGS, Server, Settings, served

GIVEN = "KWICKET_TEST_POSTGRES"

type Folders = Callable[[str], Path]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "postgres" in metafunc.fixturenames:
        found = ["given"] if _url() else _taken()
        if not (os.environ.get(GIVEN) or metafunc.definition.get_closest_marker("each_version")):
            found = list(dict.fromkeys([*found[:1], *found[-1:]]))
        metafunc.parametrize("postgres", found or [""], indirect=True, scope="session")
    if "fresh" in metafunc.fixturenames:
        metafunc.parametrize("fresh", _taken() or [""], indirect=True, scope="module")


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a PostgreSQL whose user may make databases and schemas."""
    if given := _url():
        yield given
        return
    with running(request.param) as server:
        yield server.url


@pytest.fixture(scope="module")
def fresh(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of one that no other module shares, so that there are no roles yet."""
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
    found = _taken()
    if not found:
        pytest.fail(f"no PostgreSQL is here: run `make setup`, or give one by {GIVEN}=URL")
    return found[0]


def _url() -> str | None:
    given = os.environ.get(GIVEN, "")
    return given if "://" in given else None


def _taken() -> list[str]:
    """The kinds of programs to take."""
    given = os.environ.get(GIVEN)
    return given.split(",") if given and _url() is None else kinds()
