"""Replace a file on a disk of one machine, unless a higher token was there."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StaleTokenError(Exception):
    """A later start of the Job does the work: stop, and do not try again."""


def write(path: Path, content: bytes, token: int) -> None:
    """Make `content` the file's; beside it lie FILE.token and FILE.lock, which must stay."""
    with _locked(path.with_name(f"{path.name}.lock")):
        fence = path.with_name(f"{path.name}.token")
        seen = int(fence.read_text()) if fence.exists() else 0
        if token < seen:
            raise StaleTokenError(f"token {token} is too old for {path}: {seen} was here")
        _replace(fence, str(token).encode())  # first: a crash after it refuses older ones already
        _replace(path, content)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:  # its end unlocks, also when the process is killed
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(path: Path, content: bytes) -> None:
    """Whoever reads finds the old content or the new one, also after a power cut."""
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
