"""Start, recognise and stop processes; a process is its pid and start time, never a pid alone.

Every component writes its own identity file before it becomes the component, so nothing
runs unrecorded, however early its starter dies.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from e2e.plane.errors import PlaneError

CONTAINER_MARK = "KWICKET_PLANE_CONTAINER"  # each process of a container inherits it
COMPONENT_MARK = "KWICKET_PLANE_COMPONENT"
_BECOME = 'read -r self </proc/$$/stat; echo "$self" >"$0"; exec "$@"'


def start(argv: list[str], *, record: Path, log: Path, environment: Mapping[str, str]) -> None:
    """Start `argv` in its own session, its output in `log`, its identity in `record`."""
    record.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    pid = os.posix_spawn(
        "/bin/sh",
        ["/bin/sh", "-c", _BECOME, str(record), *argv],
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGPIPE],
    )
    _await_record(record, pid)


def pid_of(record: Path) -> int:
    """The pid that `record` names; raises PlaneError where there is none."""
    known = _parse(record)
    if known is None:
        raise PlaneError(f"{record.stem} was not started.")
    return known[0]


def is_alive(record: Path) -> bool:
    """Whether the very process that `record` names still runs."""
    with _opened(record) as handle:
        return handle is not None and not _has_ended(handle, 0)


def send(record: Path, number: signal.Signals) -> bool:
    """Signal the process that `record` names; False where it runs no more."""
    with _opened(record) as handle:
        if handle is None:
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)
        return True


def stop(records: Iterable[Path], *, patience_seconds: float) -> None:
    """Ask all to end, kill those that have not within the patience; return when all are gone."""
    with contextlib.ExitStack() as stack:
        handles = [stack.enter_context(_opened(record)) for record in records]
        running = [handle for handle in handles if handle is not None]
        deadline = time.monotonic() + patience_seconds
        _signal_all(running, signal.SIGTERM)
        late = [h for h in running if not _has_ended(h, deadline - time.monotonic())]
        _signal_all(late, signal.SIGKILL)
        for handle in late:
            if not _has_ended(handle, 10):
                raise PlaneError("A process of the plane survived SIGKILL for 10 s; see ps.")


def stop_marked(name: str, folder: Path) -> None:
    """Kill every process whose environment bears the mark `name` of the plane in `folder`."""
    mark = f"{name}={folder}\0".encode()
    while sum(_kill_if_marked(pid, mark) for pid in _pids()):
        time.sleep(0.01)


def _kill_if_marked(pid: int, mark: bytes) -> bool:
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if mark not in Path(f"/proc/{pid}/environ").read_bytes():
            return False
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        return not _has_ended(handle, 1)
    except OSError:
        return False
    finally:
        os.close(handle)


def _pids() -> list[int]:
    own = os.getpid()
    return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and int(p.name) != own]


def _await_record(record: Path, pid: int) -> None:
    deadline = time.monotonic() + 10
    while _parse(record) is None:
        if time.monotonic() > deadline or os.waitpid(pid, os.WNOHANG)[0]:
            raise PlaneError(f"{record.stem} did not start.")
        time.sleep(0.001)


@contextlib.contextmanager
def _opened(record: Path) -> Iterator[int | None]:
    """A handle on the very process of `record`, or None where that process is gone."""
    known = _parse(record)
    try:
        handle = os.pidfd_open(known[0]) if known else None
    except ProcessLookupError:
        handle = None
    if handle is None:
        yield None
        return
    try:
        yield handle if known and known == _parse(Path(f"/proc/{known[0]}/stat")) else None
    finally:
        os.close(handle)


def _has_ended(handle: int, seconds: float) -> bool:
    return bool(select.select([handle], [], [], max(0.0, seconds))[0])


def _signal_all(handles: Iterable[int], number: signal.Signals) -> None:
    for handle in handles:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, number)


def _identity(record: Path) -> tuple[int, int] | None:
    return _parse(record)


def _parse(stat: Path) -> tuple[int, int] | None:
    """Pid and start time (ticks since boot) from a line in the form of /proc/PID/stat."""
    try:
        line = stat.read_text()
        return int(line.split()[0]), int(line.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
