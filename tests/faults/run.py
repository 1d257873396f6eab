"""One history: played from its option set to its end, and recorded."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

import kwicket.engine.audit
import kwicket.kube.reflector
from faults.decisions import Taken, recorded
from faults.loop import BenchLoop, StuckError
from faults.options import Options
from faults.scene import Scene
from faults.shared.options import Shared
from faults.shared.scene import SharedScene
from faults.store import JOBS, Body, Change
from faults.world import Voice, World

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

    @property
    def lost(self) -> str:
        """The cluster that never comes back; empty if there is none."""
        return self.options.lost if isinstance(self.options, Shared) else ""

    def last_jobs(self, lost: str) -> dict[tuple[str, str], Body]:
        """The Jobs as they are at the end, but for those of a lost cluster."""
        last = {change.key: change.after for change in self.kind(JOBS)}
        return {
            key: stored.body
            for key, stored in last.items()
            if stored is not None and not (lost and key[0].startswith(f"{lost}/"))
        }


def play(options: Options) -> Record:
    """Plays one history; of some seeds, once more with nothing going wrong."""
    record = played(options)
    if options.harmed and options.seed % COMPARED == 0:
        record.faultless = played(options.calm())
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
    every = kwicket.engine.audit.EVERY
    kwicket.kube.reflector.PAGE = options.page
    kwicket.engine.audit.EVERY = options.audited
    random.seed(f"product {options.seed}")
    try:
        yield
    finally:
        kwicket.kube.reflector.PAGE = page
        kwicket.engine.audit.EVERY = every
        random.setstate(dice)


def _scene(options: Options, loop: BenchLoop) -> Scene:
    if isinstance(options, Shared):
        return SharedScene(options, loop)
    return Scene(World(options, loop))


async def _play(options: Options, loop: BenchLoop, record: Record) -> None:
    scene = _scene(options, loop)
    scene.begin()
    await asyncio.sleep(options.planned)
    patience = LONG if options.lasting else PATIENCE
    record.quiet = await _until(loop, scene.quiet, patience * options.pace)
    record.seconds = loop.time()
    if record.quiet:
        await _probe(loop, scene, record)
    for operator in scene.operators():
        record.failures += operator.deaths()
        await operator.end()
    record.changes, record.voices = scene.changes(), scene.voices()
    scene.forget()


async def _until(loop: BenchLoop, true: Any, seconds: float) -> bool:
    """Whether it came true in this time."""
    end = loop.time() + seconds
    while not true():
        if loop.time() >= end:
            return False
        await asyncio.sleep(5)
    return True


async def _probe(loop: BenchLoop, scene: Scene, record: Record) -> None:
    """As many Jobs at once as the limits admit: a slot that leaked is missed here."""
    options = record.options
    wanted = record.wanted_probes = min(options.jobs, options.pods or options.jobs)
    for number in range(wanted):
        scene.probe(number, PROBE)
    await _until(loop, lambda: scene.probes(options.jobs) >= wanted, PROBE - 10)
    record.probes = scene.probes(options.jobs)
