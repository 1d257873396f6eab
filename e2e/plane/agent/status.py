"""A pod's status, written the way a kubelet writes it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from e2e.plane.agent.containers import Container
from e2e.plane.agent.specs import Pod
from e2e.plane.agent.states import Running, Terminated, now


@dataclass
class Account:
    """What there is to report of one pod; `verdict` is set when the node itself ended it."""

    pod: Pod
    address: str
    initial: Sequence[Container]
    main: Sequence[Container]
    started: str
    is_over: bool = False
    verdict: tuple[str, str] | None = None
    _since: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def phase(self) -> str:
        """Pending, Running, Succeeded or Failed."""
        if self.is_over:
            good = not self.verdict and all(c.has_succeeded for c in self.main)
            return "Succeeded" if good else "Failed"
        has_begun = any(isinstance(c.state, Running | Terminated) or c.last for c in self.main)
        return "Running" if has_begun else "Pending"

    def written(self) -> dict[str, Any]:
        """The status to patch."""
        status = {
            "observedGeneration": self.pod.metadata.generation,
            "phase": self.phase,
            "conditions": self._conditions(),
            "hostIP": "127.0.0.1",
            "hostIPs": [{"ip": "127.0.0.1"}],
            "podIP": self.address,
            "podIPs": [{"ip": self.address}],
            "startTime": self.started,
            "containerStatuses": [c.written() for c in self.main],
        }
        if self.initial:
            written = [c.written(is_initial=True) for c in self.initial]
            status["initContainerStatuses"] = written
        if self.verdict:
            status["reason"], status["message"] = self.verdict
        return status

    def _conditions(self) -> list[dict[str, Any]]:
        initialized = self.phase != "Pending" or all(c.has_succeeded for c in self.initial)
        running = all(isinstance(c.state, Running) for c in self.main) and not self.is_over
        unready = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(
            self.phase, "ContainersNotReady"
        )
        return [
            self._condition("PodReadyToStartContainers", not self.is_over, ""),
            self._condition("Initialized", initialized, "ContainersNotInitialized"),
            self._condition("Ready", running, unready),
            self._condition("ContainersReady", running, unready),
        ]

    def _condition(self, kind: str, is_so: bool, otherwise: str) -> dict[str, Any]:
        value = "True" if is_so else "False"
        if self._since.get(kind, ("", ""))[0] != value:
            self._since[kind] = (value, now())
        condition = {
            "type": kind,
            "status": value,
            "lastTransitionTime": self._since[kind][1],
            "observedGeneration": self.pod.metadata.generation,
        }
        return condition if is_so or not otherwise else condition | {"reason": otherwise}
