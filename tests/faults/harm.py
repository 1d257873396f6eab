"""Harm: what a fault does to one operator, to its process or to its network."""

from collections.abc import Callable
from typing import Any

from faults.network import Trouble
from faults.operators import Operator
from faults.options import Fault, Options
from faults.store import LANES, LIMITS, POOLS

PROCESSES = ("kill", "crash-loop", "kill-at-write", "pause", "stop", "step", "rate", "flip")
"""Faults of a process; all others are of its network."""


def strike(operator: Operator, fault: Fault, after: Callable[..., Any]) -> None:
    """Does something to its process, which begins anew or goes on after a while."""
    match fault.what:
        case "kill" | "crash-loop":
            operator.kill()
            after(max(fault.seconds, 1), operator.start)
        case "kill-at-write":
            operator.kills_at = int(fault.amount)
            after(fault.seconds + 30, operator.start)
        case "pause":
            operator.pause()
            after(fault.seconds, operator.go_on)
        case "stop":
            operator.stop()
            if not fault.lasts:
                after(fault.seconds, operator.start)
        case "step":
            operator.clock.ahead += int(fault.amount)
        case "rate":
            operator.clock.rate = fault.amount
        case "flip":
            operator.flip(int(fault.amount))


def worsen(operator: Operator, fault: Fault) -> None:
    """Makes its network worse, until `clear`."""
    trouble = operator.trouble
    match fault.what:
        case "cut" | "deaf":
            setattr(trouble, fault.what, True)
        case "silent" | "closing" | "forbidden":
            setattr(trouble, fault.what, frozenset(fault.kinds))
        case "statuses":
            trouble.unwritable = frozenset({POOLS, LIMITS, LANES})
        case "lossy":
            trouble.lost_answer = trouble.lost_request = trouble.reset = fault.amount / 3
        case "late":
            trouble.late = fault.amount / 2
        case "busy" | "broken":
            setattr(trouble, fault.what, fault.amount)
    if fault.what in ("cut", "closing") and operator.process is not None:
        operator.process.link.cut_watches()


def clear(trouble: Trouble, options: Options) -> None:
    """Makes a network as good as it is when nothing is wrong."""
    trouble.lost_answer = trouble.lost_request = trouble.reset = 0
    trouble.late = trouble.busy = trouble.broken = 0
    trouble.cut = trouble.deaf = False
    trouble.silent = trouble.closing = trouble.forbidden = trouble.unwritable = frozenset()
    trouble.slow, trouble.lag, trouble.replays = options.slow, options.lag, options.replays
