"""kubectl and helm as a test calls them."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from e2e.plane import Plane

TOOL_SECONDS = 60


class Tool:
    """One program; each call is one run of it as one user."""

    def __init__(self, program: Path, kubeconfig: Callable[[str], Path], caches: Path) -> None:
        self._program = program
        self._kubeconfig = kubeconfig
        self._caches = {
            "KUBECACHEDIR": str(caches / "kubectl"),
            "HELM_CACHE_HOME": str(caches / "helm-cache"),
            "HELM_CONFIG_HOME": str(caches / "helm-config"),
            "HELM_DATA_HOME": str(caches / "helm-data"),
        }

    def __call__(
        self,
        *words: str,
        who: str = "admin",
        stdin: str | None = None,
        check: bool = True,
        seconds: float = TOOL_SECONDS,
    ) -> subprocess.CompletedProcess[str]:
        """Run it with `words`; with `check`, a failure fails the test with what was said.

        `who` is admin, alice, bob or a service account NAMESPACE/NAME. Raises TimeoutExpired
        after `seconds`.
        """
        environment = {**os.environ, **self._caches, "KUBECONFIG": str(self._kubeconfig(who))}
        answer = subprocess.run(
            [self._program, *words],
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        if check and answer.returncode != 0:
            said = f"{answer.stdout}{answer.stderr}"
            raise AssertionError(f"{self._program.name} {' '.join(words)} as {who}: {said}")
        return answer


def tools(plane: Plane, folder: Path) -> tuple[Tool, Tool]:
    """helm and kubectl for this plane; their caches go to the folder."""
    helm, kubectl = (
        Tool(plane.bin(name), plane.kubeconfig, folder) for name in ("helm", "kubectl")
    )
    return helm, kubectl
