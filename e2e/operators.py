"""The operator as a process beside the cluster, as its own service account."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

END_SECONDS = 5
ALONE = ("--no-leader-election",)
"""For an operator that is to work at once, though the one before it was killed."""


class Operator:
    """One process of `kwicket operator`; its JSON lines go to `log`."""

    def __init__(self, kubeconfig: Path, log: Path, *options: str, module: str = "kwicket") -> None:
        self.log = log
        command = [sys.executable, "-m", module, "operator", "--kubeconfig", str(kubeconfig)]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*command, *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def end(self, seconds: float = END_SECONDS) -> int:
        """SIGTERM; its exit code. Raises TimeoutExpired if it takes so long."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(seconds)

    async def ended(self, seconds: float = 30) -> int:
        """Waits until it has ended by itself; its exit code. Raises TimeoutExpired."""
        return await asyncio.to_thread(self._process.wait, seconds)

    def kill(self) -> None:
        """SIGKILL, and gone."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGSTOP: it does nothing any more, and does not know."""
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None


@contextmanager
def running(
    kubeconfig: Path, log: Path, *options: str, module: str = "kwicket"
) -> Iterator[Operator]:
    """An operator for the length of the context."""
    operator = Operator(kubeconfig, log, *options, module=module)
    try:
        yield operator
    finally:
        if operator.alive:
            operator.go_on()
            operator.end()
