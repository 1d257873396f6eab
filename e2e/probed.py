"""`python -m e2e.probed operator --kubeconfig F`: the operator with a loop-lag probe in its loop.

Every 10 ms a tick is due, on a fixed schedule; how late each one came is written, when the operator
ends, to the file that LAG_REPORT names, as a JSON list of [due, late] in seconds of the monotonic
clock (which all processes of a machine share).
"""

import asyncio
import contextlib
import json
import os
import sys
import time
from pathlib import Path

from kwicket.app import operate
from kwicket.cli.logs import configure_logs
from kwicket.settings import Settings

EVERY = 0.01


async def probe(ticks: list[tuple[float, float]]) -> None:
    """Notes each tick and its lateness until cancelled; a stall counts for every tick it hid."""
    due = time.monotonic() + EVERY
    while True:
        await asyncio.sleep(max(due - time.monotonic(), 0))
        now = time.monotonic()
        while due <= now:
            ticks.append((due, now - due))
            due += EVERY


async def _main(kubeconfig: Path, ticks: list[tuple[float, float]]) -> None:
    probing = asyncio.create_task(probe(ticks))
    await operate(Settings(kubeconfig=kubeconfig))
    probing.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await probing


if __name__ == "__main__":
    configure_logs("info")
    noted: list[tuple[float, float]] = []
    asyncio.run(_main(Path(sys.argv[3]), noted))
    Path(os.environ["LAG_REPORT"]).write_text(json.dumps(noted))
