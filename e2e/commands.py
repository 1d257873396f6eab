"""What the chart's containers run, run beside the cluster: a plane's pods can't reach it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

SECONDS = 30


def run(kubeconfig: Path, container: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """What the container would run, as the user of `kubeconfig`."""
    program, command = container["command"]
    words = [command, *container["args"], "--kubeconfig", str(kubeconfig)]
    return subprocess.run(
        [sys.executable, "-m", program, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
