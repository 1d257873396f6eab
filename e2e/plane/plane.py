"""One plane in one folder: brought up, asked for kubeconfigs, taken down."""

import fcntl
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from e2e.plane import build, credentials, faults, kubeconfigs, lifecycle
from e2e.plane.errors import MissingError, PlaneError
from e2e.plane.layout import Layout, NodeKind, Ports, State
from e2e.plane.node import host, images

EMULATED = ("1.34", "1.35", "1.36", "1.37")


def _silently(_: str) -> None:
    pass


class Plane:
    """A control plane; several processes may hold the same one, the truth is in its folder."""

    def __init__(self, folder: Path) -> None:
        self._layout = Layout(folder)

    @property
    def folder(self) -> Path:
        """Where its state, logs and kubeconfigs lie."""
        return self._layout.root

    @property
    def audit(self) -> Path:
        """What the audited service accounts asked of the API server, a JSON line each."""
        return self._layout.audit

    @classmethod
    def up(
        cls,
        folder: Path,
        emulate: str | None = None,
        say: Callable[[str], None] = _silently,
        node: NodeKind = "agent",
        audited: str | None = None,
    ) -> "Plane":
        """Start a plane in `folder`, or find it up there; what is left of a crashed one goes first.

        `emulate` is one of EMULATED, or None for the binaries' own version; `say` is told
        what takes long; `node` is who runs the pods; `audited` is a namespace whose service
        accounts' requests are written to `audit`. Raises PlaneError, with nothing left running,
        when a component does not come up, MissingError where this machine lacks what the node
        needs.
        """
        if emulate is not None and emulate not in EMULATED:
            raise PlaneError(f"{emulate} cannot be emulated: choose one of {', '.join(EMULATED)}.")
        if not sys.platform.startswith("linux"):
            way_out = "use a Linux machine, or a cluster of yours by KUBECONFIG"
            raise MissingError(f"The test plane runs on Linux only: {way_out}.")
        if node == "real":
            host.require(folder)
        build.build(say, build.needed(node))
        plane = cls(folder)
        with plane._locked():
            if lifecycle.is_up(plane._layout):
                plane._check_same(emulate, node, audited)
                say(f"the plane in {plane.folder} is up already")
            else:
                lifecycle.start(plane._layout, State(Ports.free(), emulate, node, audited), say)
        return plane

    def down(self) -> None:
        """Stop exactly what `up` started and return when all of it is gone; logs stay."""
        if self._layout.root.exists():
            with self._locked():
                lifecycle.stop(self._layout)

    def kubeconfig(self, who: str) -> Path:
        """The kubeconfig of `admin`, `alice`, `bob`, or of a service account NAMESPACE/NAME.

        Raises PlaneError where there is no plane, no such user or no such account.
        """
        self._up()
        target = self._layout.kubeconfig(who)
        if who in credentials.USERS:
            return target
        if who.count("/") != 1:
            raise PlaneError(f"{who} is no user: say admin, alice, bob or NAMESPACE/NAME.")
        admin = self._layout.kubeconfig("admin")
        lifecycle.run(kubeconfigs.for_service_account(admin, who, target))
        return target

    def node(self, name: str, fault: str) -> None:
        """Have `die`, `silence` or `return` happen to the node; returns when it has."""
        state = self._up()
        if state.node == "real":
            raise PlaneError("A real node takes no orders: only the node agent's can be lost.")
        faults.inflict(state.ports.agent, name, fault)

    @contextmanager
    def without(self, *components: str) -> Iterator[Path]:
        """Have components stopped for the length of the context; then the API server answers again.

        They are named in the order in which they start. Yields the folder of etcd's data.
        """
        state = self._up()
        for component in reversed(components):
            lifecycle.halt(self._layout, (component,))
        try:
            yield self._layout.etcd
        finally:
            lifecycle.resume(self._layout, state, components)

    def compact(self) -> None:
        """Have etcd forget all versions but the last."""
        faults.compact(self._up().ports.etcd)

    def put(self, values: Mapping[str, bytes]) -> None:
        """Have etcd hold these values by key, past the API server, which takes them for its own."""
        faults.put(self._up().ports.etcd, values)

    def load(self, image: Path) -> None:
        """Put the image of an OCI archive on the real node, for pods that never pull it.

        Raises PlaneError where there is no real node, or it does not take the archive.
        """
        if self._up().node != "real":
            raise PlaneError("Only a real node has images: bring the plane up with --node real.")
        images.load(image, images.outside(self._layout))

    def bin(self, name: str) -> Path:
        """The built program `name`, such as kubectl or helm."""
        return build.BIN / name

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._layout.prepare()
        with self._layout.lock.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _up(self) -> State:
        state = self._layout.read_state()
        if state is None or not lifecycle.is_up(self._layout):
            raise PlaneError(f"There is no plane up in {self.folder}: bring one up first.")
        return state

    def _check_same(self, emulate: str | None, node: NodeKind, audited: str | None) -> None:
        state = self._up()
        if (state.emulate, state.node, state.audited) != (emulate, node, audited):
            have = f"{state.emulate or 'its own version'} and node {state.node}"
            raise PlaneError(f"The plane in {self.folder} is up with {have}: bring it down first.")
