"""One container: a process group, its state, its restarts."""

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import Any

from e2e.plane.agent import states
from e2e.plane.agent.specs import ContainerSpec
from e2e.plane.agent.states import Running, State, Terminated, Waiting

BACKOFF_SECONDS = 10.0
BACKOFF_MOST_SECONDS = 300.0


class Container:
    """The life of one container of one pod."""

    def __init__(self, spec: ContainerSpec, uid: str) -> None:
        self.spec = spec
        self.state: State = Waiting("PodInitializing")
        self.last: Terminated | None = None
        self.restarts = 0
        self._id = f"process://{uid}/{spec.name}"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def can_be_pulled(self) -> bool:
        """There are no images: a container needs a command, and an image not called missing."""
        name = self.spec.image.rpartition("/")[2]
        return bool(self.spec.command) and not name.startswith("missing")

    @property
    def is_sidecar(self) -> bool:
        """Whether it is an initial container that runs beside the main ones."""
        return self.spec.restart_policy == "Always"

    def is_to_restart(self, policy: str) -> bool:
        """Whether, having ended, it is to run again under Always, OnFailure or Never."""
        return policy == "Always" or (policy == "OnFailure" and not self.has_succeeded)

    @property
    def has_succeeded(self) -> bool:
        """Whether it ended, and well."""
        return isinstance(self.state, Terminated) and self.state.code == 0

    @property
    def backoff_seconds(self) -> float:
        """How long to wait before the next start: none at first, then 10 s, doubling."""
        if self.restarts == 0:
            return 0.0
        return min(BACKOFF_SECONDS * 2.0 ** (self.restarts - 1), BACKOFF_MOST_SECONDS)

    async def start(self, argv: list[str], env: dict[str, str], folder: Path, log: Path) -> None:
        """Start the process; where that cannot be done the state says so."""
        self.rest(Waiting("ContainerCreating"))
        self.restarts += self.last is not None
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder,
                env=env,
                start_new_session=True,
            )
            self.state = Running(states.now())
        except OSError as error:
            moment = states.now()
            self.state = Terminated(128, "StartError", moment, moment, message=str(error))
        finally:
            os.close(output)

    def rest(self, obstacle: Waiting) -> None:
        """Wait for a start, the end of the run before remembered."""
        if isinstance(self.state, Terminated):
            self.last = self.state
        self.state = obstacle

    def settle(self) -> None:
        """Wait no more: there will be no start."""
        if isinstance(self.state, Waiting):
            self.state = self.last or states.never_started()

    async def wait(self) -> None:
        """Return once the process has ended, what it left behind killed, and the state says so."""
        if self._process is None or not isinstance(self.state, Running):
            return
        started = self.state.started
        returncode = await self._process.wait()
        _signal_group(self._process.pid, signal.SIGKILL)
        self._process = None
        self.state = states.ended(returncode, started)

    def send(self, number: signal.Signals) -> None:
        """Signal all of the container's processes, if it runs."""
        if self._process is not None and self._process.returncode is None:
            _signal_group(self._process.pid, number)

    def restore(self, reported: dict[str, Any]) -> None:
        """Take over what was last reported by an agent or machine that is no more."""
        self.restarts = reported.get("restartCount", 0)
        state = reported.get("state", {})
        if gone := state.get("terminated"):
            self.state = Terminated(
                gone["exitCode"],
                gone.get("reason", ""),
                gone.get("startedAt", ""),
                gone.get("finishedAt", ""),
                gone.get("signal", 0),
            )
        elif ran := state.get("running"):
            self.state = states.lost(ran["startedAt"])

    def written(self, *, is_initial: bool = False) -> dict[str, Any]:
        """As an entry of the pod's (init)containerStatuses."""
        runs = isinstance(self.state, Running)
        return {
            "name": self.spec.name,
            "image": self.spec.image,
            "imageID": "",
            "containerID": "" if isinstance(self.state, Waiting) else self._id,
            "ready": runs or (is_initial and self.has_succeeded),
            "started": runs,
            "restartCount": self.restarts,
            "state": self.state.written(),
            "lastState": self.last.written() if self.last else {},
        }


def _signal_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
