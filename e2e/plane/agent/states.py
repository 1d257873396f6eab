"""The states of a container, as they stand in a pod's status."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


def now() -> str:
    """This moment as the API writes it, in whole seconds of UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def seconds_since(moment: str) -> float:
    """How long ago a moment was that the API wrote."""
    then = datetime.fromisoformat(moment)
    return (datetime.now(UTC) - then).total_seconds()


@dataclass(frozen=True)
class Waiting:
    """Not started (again) yet, and why."""

    reason: str
    message: str = ""

    def written(self) -> dict[str, Any]:
        """As in a container's status."""
        return {"waiting": _present(reason=self.reason, message=self.message)}


@dataclass(frozen=True)
class Running:
    """Started and not ended."""

    started: str

    def written(self) -> dict[str, Any]:
        """As in a container's status."""
        return {"running": {"startedAt": self.started}}


@dataclass(frozen=True)
class Terminated:
    """Ended; `code` is 128 + `signal` where a signal ended it."""

    code: int
    reason: str
    started: str = ""
    finished: str = ""
    signal: int = 0
    message: str = ""

    def written(self) -> dict[str, Any]:
        """As in a container's status."""
        rest = _present(
            reason=self.reason,
            message=self.message,
            signal=self.signal,
            startedAt=self.started,
            finishedAt=self.finished,
        )
        return {"terminated": {"exitCode": self.code, **rest}}


type State = Waiting | Running | Terminated


def ended(returncode: int, started: str) -> Terminated:
    """The state after a process ended with `returncode`, negative for a signal, just now."""
    signal = max(0, -returncode)
    code = 128 + signal if signal else returncode
    return Terminated(code, "Error" if code else "Completed", started, now(), signal)


def lost(started: str) -> Terminated:
    """The state of a container that went down with its machine."""
    return Terminated(255, "Unknown", started, now())


def never_started() -> Terminated:
    """The state of a container whose pod was ended before the container ran."""
    return Terminated(
        137,
        "ContainerStatusUnknown",
        message="The container could not be located when the pod was terminated",
    )


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
