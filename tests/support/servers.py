"""PostgreSQL servers for tests, each in a folder of its own, from one set of programs."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from support.programs import Programs, give

SETTINGS = {"listen_addresses": "", "fsync": "off", "max_connections": "50"}

type Settings = Mapping[str, str]


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
        """A copy in a folder that must be empty, which follows it and is not started yet.

        It is stopped for as long as that takes.
        """
        self.stop("fast")
        made = self.copy(folder)
        (made.data / "standby.signal").touch()
        give(made.data)
        made.follow(self)
        self.start()
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
