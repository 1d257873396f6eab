"""Binaries of the plane, built from Go modules; a binary is rebuilt only when its inputs change."""

import fcntl
import hashlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2e.plane.errors import MissingError, PlaneError
from e2e.plane.layout import NodeKind

HERE = Path(__file__).parent
BIN = HERE / "bin"
WORK = HERE / "build"
GO_NEEDED = (1, 26)
GO_WAY_OUT = "install Go 1.26 or newer (https://go.dev/dl) and put it on PATH"
KUBERNETES = "1.37.2"
HELM = "4.3.1"

_VERSION = "k8s.io/component-base/version"
_MAJOR, _MINOR, _ = KUBERNETES.split(".")
_KUBERNETES_LDFLAGS = (
    f"-s -w -X {_VERSION}.gitVersion=v{KUBERNETES} -X {_VERSION}.gitMajor={_MAJOR}"
    f" -X {_VERSION}.gitMinor={_MINOR} -X {_VERSION}.gitTreeState=clean"
)
_HELM_LDFLAGS = f"-s -w -X helm.sh/helm/v4/internal/version.version=v{HELM}"


@dataclass(frozen=True)
class Binary:
    """One program: its name in `bin/`, the module folder it is built in, its Go package."""

    name: str
    module: str
    package: str
    ldflags: str = "-s -w"
    flags: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Where the built program lies."""
        return BIN / self.name

    def is_fresh(self) -> bool:
        """Whether the built program came from the present inputs."""
        stamp = WORK / f"{self.name}.stamp"
        return self.path.exists() and stamp.exists() and stamp.read_text() == self.inputs()

    def inputs(self) -> str:
        """A hash over all that decides what the build makes."""
        digest = hashlib.sha256(" ".join(self.command(self.path)).encode())
        for file in sorted((HERE / "modules" / self.module).glob("*")):
            digest.update(file.read_bytes())
        return digest.hexdigest()

    def command(self, target: Path) -> list[str]:
        """The build command, to be run in the module's folder."""
        flags = ["-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", self.ldflags]
        return ["go", "build", *flags, *self.flags, "-o", str(target), self.package]


def _kubernetes(name: str, module: str = "kubernetes") -> Binary:
    return Binary(name, module, f"k8s.io/kubernetes/cmd/{name}", _KUBERNETES_LDFLAGS)


def _containerd(name: str) -> Binary:
    package = f"github.com/containerd/containerd/v2/cmd/{name}"
    return Binary(name, "containerd", package, flags=("-tags", "no_btrfs,no_zfs,no_devmapper"))


def _network(kind: str, name: str) -> Binary:
    return Binary(name, "network", f"github.com/containernetworking/plugins/plugins/{kind}/{name}")


BINARIES = (
    Binary("credentials", "credentials", "."),
    Binary("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kube-scheduler"),
    _kubernetes("kubectl"),
    Binary("helm", "helm", "helm.sh/helm/v4/cmd/helm", _HELM_LDFLAGS),
)

NODE_BINARIES = (
    _kubernetes("kubelet", "node"),
    _kubernetes("kube-proxy", "node"),
    _containerd("containerd"),
    _containerd("containerd-shim-runc-v2"),
    _containerd("ctr"),
    _network("main", "bridge"),
    _network("main", "loopback"),
    _network("ipam", "host-local"),
    Binary("pause", "pause", "."),
)
"""What a real node needs besides."""


def needed(node: NodeKind) -> tuple[Binary, ...]:
    """The programs of a plane with nodes of that kind."""
    return BINARIES + (NODE_BINARIES if node == "real" else ())


def build(say: Callable[[str], None], binaries: tuple[Binary, ...] = BINARIES) -> None:
    """Make each of `binaries` that is absent or stale; minutes when cold, no Go if all are fresh.

    Raises MissingError without a fitting Go, PlaneError when a build fails.
    """
    if all(binary.is_fresh() for binary in binaries):
        return
    require_go()
    with _only_one_builder(say):
        stale = [binary for binary in binaries if not binary.is_fresh()]
        for number, binary in enumerate(stale, 1):
            _build_one(binary, f"[{number}/{len(stale)}] {binary.name}", say)


def require_go() -> None:
    """Raise MissingError, naming the way out, unless a fitting Go is on PATH."""
    try:
        answer = subprocess.run(
            ["go", "env", "GOVERSION"],
            cwd=HERE / "modules" / "kubernetes",
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise MissingError(f"The test plane needs Go and there is none: {GO_WAY_OUT}.") from None
    found = re.match(r"go(\d+)\.(\d+)", answer.stdout)
    if found is None or (int(found[1]), int(found[2])) < GO_NEEDED:
        have = answer.stdout.strip() or "an older one"
        raise MissingError(f"The test plane needs Go 1.26 and found {have}: {GO_WAY_OUT}.")


@contextmanager
def _only_one_builder(say: Callable[[str], None]) -> Iterator[None]:
    BIN.mkdir(exist_ok=True)
    WORK.mkdir(exist_ok=True)
    with (WORK / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another build of the same binaries")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_one(binary: Binary, title: str, say: Callable[[str], None]) -> None:
    say(f"{title}: building")
    started = time.monotonic()
    target = BIN / f".{binary.name}.new"
    log = WORK / f"{binary.name}.log"
    inputs = binary.inputs()
    with log.open("w") as output:
        folder = HERE / "modules" / binary.module
        process = subprocess.Popen(
            binary.command(target), cwd=folder, env=_environment(), stdout=output, stderr=output
        )
        _wait(process, lambda: say(f"{title}: {time.monotonic() - started:.0f} s so far"))
    if process.returncode != 0:
        raise PlaneError(f"Building {binary.name} failed, see {log}: {_last_line(log)}")
    target.replace(binary.path)
    (WORK / f"{binary.name}.stamp").write_text(inputs)
    say(f"{title}: built in {time.monotonic() - started:.0f} s")


def _wait(process: subprocess.Popen[bytes], tick: Callable[[], None]) -> None:
    try:
        while True:
            try:
                process.wait(timeout=15)
                return
            except subprocess.TimeoutExpired:
                tick()
    except BaseException:
        process.kill()
        process.wait()
        raise


def _environment() -> dict[str, str]:
    return {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no output"
