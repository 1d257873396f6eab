"""Where things lie in a plane's folder, and on which ports; nothing of a plane is outside it."""

import random
import socket
from pathlib import Path
from typing import Literal

import msgspec

PORT_RANGE = range(20000, 32000)  # below the ports the system hands to outgoing connections


type NodeKind = Literal["agent", "real"]
"""Who runs the pods: the node agent, as local processes, or a kubelet, in containers."""


class Ports(msgspec.Struct, frozen=True):
    """The loopback ports of one plane."""

    etcd: int
    peers: int
    api: int
    agent: int

    @classmethod
    def free(cls) -> "Ports":
        """Four different ports nobody listens on now."""
        chosen: list[int] = []
        while len(chosen) < 4:
            port = random.choice(PORT_RANGE)  # noqa: S311 - not a secret
            if port not in chosen and _is_free(port):
                chosen.append(port)
        return cls(*chosen)


class State(msgspec.Struct, frozen=True):
    """What is remembered of a plane between commands; `ready` once `up` has finished."""

    ports: Ports
    emulate: str | None = None
    node: NodeKind = "agent"
    audited: str | None = None
    ready: bool = False


class Layout:
    """The files of the plane in one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.state = self.root / "state.json"
        self.lock = self.root / "lock"
        self.run = self.root / "run"
        self.logs = self.root / "logs"
        self.audit = self.logs / "audit.jsonl"
        self.audit_policy = self.logs / "audit-policy.yaml"
        self.secrets = self.root / "secrets"
        self.tokens = self.secrets / "tokens.csv"
        self.kubeconfigs = self.root / "kubeconfigs"
        self.etcd = self.root / "etcd"
        self.pods = self.root / "pods"
        self.node = self.root / "node"

    def prepare(self) -> None:
        """Make the folders; what they hold is for this user's eyes only."""
        self.root.mkdir(parents=True, exist_ok=True)
        private = (self.run, self.logs, self.secrets, self.kubeconfigs)
        for folder in (*private, self.etcd, self.pods, self.node):
            folder.mkdir(mode=0o700, exist_ok=True)

    def read_state(self) -> State | None:
        """The remembered state, or None where no plane was started or its start broke off early."""
        try:
            return msgspec.json.decode(self.state.read_bytes(), type=State)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def write_state(self, state: State) -> None:
        """Remember `state` in place of what was remembered."""
        fresh = self.state.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(state))
        fresh.replace(self.state)

    def record(self, name: str) -> Path:
        """Where the identity of the component `name` is written down."""
        return self.run / f"{name}.pid"

    def kubeconfig(self, who: str) -> Path:
        """Where the kubeconfig of a user, or of a service account NAMESPACE/NAME, lies."""
        return self.kubeconfigs / f"{who.replace('/', '_')}.yaml"


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
