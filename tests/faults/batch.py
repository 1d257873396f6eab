"""Some seeds, one after the other: what they found, and what they cost."""

import asyncio
import gc
import logging
import time
from collections.abc import Iterable, MutableMapping
from typing import Any, Self

import click
import structlog
from msgspec import Struct
from msgspec.structs import fields

from faults.checks import violations
from faults.loop import PROCESS
from faults.options import Options, drawn
from faults.run import play
from faults.shared.options import Shared
from faults.shared.options import drawn as drawn_shared

COMMAND = "python -m tests.faults"


class Batch(Struct):
    """Figures that add up."""

    histories: int = 0
    liveness: int = 0
    """Those of them in which a fault never heals."""
    changes: int = 0
    simulated: float = 0
    """Seconds."""
    processor: float = 0
    """Seconds of one core."""
    failures: list[str] = []

    def __iadd__(self, other: "Batch") -> Self:
        self.histories += other.histories
        self.liveness += other.liveness
        self.changes += other.changes
        self.simulated += other.simulated
        self.processor += other.processor
        self.failures += other.failures
        return self

    def line(self, seconds: float) -> str:
        """One line of progress."""
        days = self.simulated / 86400
        per_minute = self.histories / max(self.processor, 0.001) * 60
        return (
            f"{self.histories} histories ({self.liveness} with a fault that lasts),"
            f" {self.changes} writes, {days:.1f} simulated days in {seconds:.0f} s,"
            f" {per_minute:.0f} a minute of one core, {len(self.failures)} failures"
        )


def played_batch(seeds: Iterable[int], *, shared: bool = False) -> Batch:
    """Plays these seeds, quietly. Nothing is tidied up: the process should end after it.

    `shared` has several clusters share their pools.
    """
    quiet()
    gc.disable()
    total = Batch()
    begun = time.process_time()
    for seed in seeds:
        options = _options(seed, shared)
        record = play(options)
        total.histories += 1
        total.liveness += options.lasting is not None
        total.changes += len(record.changes)
        total.simulated += record.seconds
        found = violations(record)
        if found:
            total.failures.append(failure(options, found))
    total.processor = time.process_time() - begun
    return total


def played_loudly(seed: int, *, shared: bool, log: bool) -> list[str]:
    """Plays one seed, and prints its option set and what is wrong with it."""
    if log:
        structlog.configure(processors=[_stamp, structlog.dev.ConsoleRenderer(colors=False)])
    else:
        quiet()
    options = _options(seed, shared)
    click.echo(shown(options))
    record = play(options)
    found, last = violations(record), len(record.changes)
    click.echo("\n".join(found) or f"all is well after {record.seconds:.3f} s, {last} versions")
    return found


def failure(options: Options, found: list[str]) -> str:
    """What there is to say about a seed that has failed."""
    text = "\n  ".join(found)
    command = f"{COMMAND}{' --shared' if isinstance(options, Shared) else ''} --seed {options.seed}"
    return f"seed {options.seed}:\n  {text}\n{shown(options)}\nagain: {command}"


def _options(seed: int, shared: bool) -> Options:
    return drawn_shared(seed) if shared else drawn(seed)


def shown(options: Options) -> str:
    """The whole option set, a line for each thing that is planned."""
    lines = []
    for field in fields(options):
        value = getattr(options, field.name)
        if field.name in ("works", "edits", "faults"):
            lines += [f"  {field.name}:", *(f"    {one}" for one in value)]
        elif isinstance(options, Shared) and field.name == "clusters":
            for name, one in zip(options.names, value, strict=True):
                lines += [f"  {name}:", *(f"  {line}" for line in shown(one).splitlines())]
        else:
            lines.append(f"  {field.name}: {value}")
    return "\n".join(lines)


def quiet() -> None:
    """Nothing is logged, which would cost more than what it tells of."""
    wrapper = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=wrapper, cache_logger_on_first_use=True)


def _stamp(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The virtual time, and the process that says it."""
    return {"at": f"{asyncio.get_running_loop().time():.3f}", "process": PROCESS.get(), **event}
