"""The control group of one plane's pods, in every hierarchy that the machine has."""

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

from e2e.plane.errors import PlaneError
from e2e.plane.layout import Layout

MOUNTS = Path("/sys/fs/cgroup")
INHERITED = ("cpuset.cpus", "cpuset.mems")
GONE_SECONDS = 10


def name(layout: Layout) -> str:
    """The group's name: the same for the same folder, so that whoever cleans up can find it."""
    return f"kwicket-plane-{hashlib.sha256(bytes(layout.root)).hexdigest()[:12]}"


def make(layout: Layout) -> None:
    """Make the group; what is below it inherits the processors and memory of the machine."""
    for hierarchy in _hierarchies():
        group = hierarchy / name(layout)
        group.mkdir(exist_ok=True)
        for file in INHERITED:
            if (hierarchy / file).exists() and not (group / file).read_text().strip():
                (group / file).write_text((hierarchy / file).read_text())


def remove(layout: Layout) -> None:
    """Take the group away, with all below it, once nothing runs in it.

    Raises PlaneError if something still does after GONE_SECONDS.
    """
    deadline = time.monotonic() + GONE_SECONDS
    for hierarchy in _hierarchies():
        for group in sorted(_below(hierarchy / name(layout)), reverse=True):
            while not _removed(group):
                if time.monotonic() > deadline:
                    raise PlaneError(f"Something still runs in {group}: see its cgroup.procs.")
                time.sleep(0.01)


def _hierarchies() -> list[Path]:
    """The one of version 2, or those of version 1."""
    if (MOUNTS / "cgroup.procs").exists():
        return [MOUNTS]
    found = [path for path in MOUNTS.glob("*/") if (path / "cgroup.procs").exists()]
    return sorted({path.resolve() for path in found})


def _below(group: Path) -> Iterator[Path]:
    if group.is_dir():
        yield group
        yield from group.rglob("*/")


def _removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
