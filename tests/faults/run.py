"""One history: played from its option set to its end, and recorded."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

import kwicket.kube.reflector
from faults.decisions import Taken, recorded
from faults.loop import BenchLoop, StuckError
from faults.options import Options, Work
from faults.server import is_true
from faults.store import JOBS, LEDGERS, PODS, Body, Change, Stored
from faults.world import POOL, Voice, World

PATIENCE = 900.0
"""Seconds after the last fault within which everything must have ended."""
LONG = 3 * PATIENCE
"""The same while one fault never heals."""
COMPARED = 10
"""One seed in so many is compared with its run without faults."""
PROBE = 300.0
"""Seconds within which the probes must all run at once."""


class Record(Struct):
    """All that the checkers may look at: what was stored, and what was told."""

    options: Options
    changes: list[Change] = []
    voices: list[Voice] = []
    failures: list[str] = []
    """What went wrong outside of the rules: an operator that died, a callback that raised."""
    seconds: float = 0
    """When all had ended, or patience."""
    quiet: bool = False
    probes: int = 0
    """How many probes ran at once."""
    wanted_probes: int = 0
    decisions: list[Taken] = []
    faultless: "Record | None" = None
    """The same inputs with nothing going wrong, if that was played too."""

    def kind(self, kind: str) -> list[Change]:
        """The changes of a kind, in order."""
        return [change for change in self.changes if change.kind == kind]


def play(options: Options) -> Record:
    """Plays one history; of some seeds, once more with nothing going wrong."""
    record = played(options)
    if options.faults and options.seed % COMPARED == 0:
        record.faultless = played(replace(options, faults=()))
    return record


def played(options: Options) -> Record:
    """Plays one history once."""
    loop = BenchLoop()
    record = Record(options)
    try:
        with _drawn(options), recorded(record.decisions.append):
            loop.run_until_complete(_play(options, loop, record))
    except StuckError as error:
        record.failures.append(str(error))
    finally:
        loop.close()
    record.failures += loop.failures
    return record


@contextmanager
def _drawn(options: Options) -> Iterator[None]:
    """What the product takes from its modules, by the option set."""
    page, dice = kwicket.kube.reflector.PAGE, random.getstate()
    kwicket.kube.reflector.PAGE = options.page
    random.seed(f"product {options.seed}")
    try:
        yield
    finally:
        kwicket.kube.reflector.PAGE = page
        random.setstate(dice)


async def _play(options: Options, loop: BenchLoop, record: Record) -> None:
    world = World(options, loop)
    world.begin()
    await asyncio.sleep(options.planned)
    lasting = options.lasting
    patience = LONG if lasting else PATIENCE
    record.quiet = await _until(world, lambda: _quiet(world), patience * options.pace)
    record.seconds = loop.time()
    if record.quiet:
        await _probe(world, record)
    for operator in world.operators:
        record.failures += operator.deaths()
        await operator.end()
    record.changes, record.voices = world.store.changes, world.voices
    world.store.forget()


async def _until(world: World, true: Any, seconds: float) -> bool:
    """Whether it came true in this time."""
    end = world.loop.time() + seconds
    while not true():
        if world.loop.time() >= end:
            return False
        await asyncio.sleep(5)
    return True


def _quiet(world: World) -> bool:
    """Whether nothing is left to be done."""
    if any(not over(job.body, world.options) for job in world.store.all(JOBS)):
        return False
    ledger = world.store.get(LEDGERS, ("", POOL))
    if ledger is not None and ledger.body["spec"].get("intents"):
        return False
    return not any(pod.body["status"]["phase"] in ("Pending", "Running") for pod in _pods(world))


def _pods(world: World) -> list[Stored]:
    return world.store.all(PODS)


def over(job: Body, options: Options) -> bool:
    """Whether a Job has come to its end, or is one that can't."""
    if is_true(job, "Complete") or is_true(job, "Failed"):
        return True
    name, labels = job["metadata"]["name"], job["metadata"]["labels"]
    lasting = options.lasting
    refused = lasting is not None and lasting.what == "refused" and lasting.where == name
    return bool(job["spec"]["suspend"]) and (refused or "kwicket.dev/pool" in labels)


async def _probe(world: World, record: Record) -> None:
    """As many Jobs at once as the limits admit: a slot that leaked is missed here."""
    options = world.options
    record.wanted_probes = min(options.jobs, options.pods or options.jobs)
    for number in range(record.wanted_probes):
        work = Work(f"probe-{number}", "team-a", f"probe-{number}", 0, PROBE)
        world.add(work)

    def running() -> int:
        named = (world.store.get(JOBS, ("team-a", f"probe-{n}")) for n in range(options.jobs))
        return sum(1 for job in named if job is not None and not job.body["spec"]["suspend"])

    await _until(world, lambda: running() >= record.wanted_probes, PROBE - 10)
    record.probes = running()
