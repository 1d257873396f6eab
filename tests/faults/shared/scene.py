"""The scene of several clusters and their database, and what goes wrong between them."""

import random
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any

from faults.loop import BenchLoop
from faults.operators import Join, Operator
from faults.options import START, Fault
from faults.process import Clock
from faults.scene import Scene
from faults.shared.database import Copy, Database, TimedBacklog
from faults.shared.line import Line, Strain
from faults.shared.merge import merged, voice
from faults.shared.options import Shared
from faults.store import Change, Versions
from faults.world import Voice, World
from kwicket.engine.sharing import Sharing
from kwicket.ledgers import Ledgers
from kwicket_storage.clusters import Cluster
from kwicket_storage.shared_memory import SharedMemoryLedger


class SharedScene(Scene):
    """Of several clusters."""

    def __init__(self, options: Shared, loop: BenchLoop) -> None:
        self.options = options
        self._loop = loop
        self._context = copy_context()
        self._clock = Clock(START, 0)
        versions = Versions()
        self.database = Database(self._clock, versions)
        self._strains: dict[str, list[Strain]] = {name: [] for name in options.names}
        self._lines: list[Line] = []
        self.all = [
            World(own, loop, cluster=name, versions=versions, join=self._join_of(name))
            for name, own in zip(options.names, options.clusters, strict=True)
        ]
        super().__init__(*(world for world in self.all if world.cluster != options.lost))

    def begin(self) -> None:
        """Everybody begins, and what goes wrong is planned."""
        for world in self.all:
            world.begin()
        for fault in self.options.faults:
            self._after(fault.at, self._break, fault)

    def operators(self) -> Iterator[Operator]:
        """Those of all clusters, also of one that is lost."""
        for world in self.all:
            yield from world.operators

    def intents(self) -> bool:
        """Whether the pages have grants that were not seen on their Jobs yet."""
        return self.database.intents() > 0

    def changes(self) -> list[Change]:
        """Of all clusters and the database."""
        stored = {world.cluster: world.store.changes for world in self.all}
        return merged(stored, self.database.changes)

    def voices(self) -> list[Voice]:
        """Of all clusters."""
        return [voice(world.cluster, one) for world in self.all for one in world.voices]

    def forget(self) -> None:
        """Lets go of everything."""
        for world in self.all:
            world.store.forget()

    def _after(self, seconds: float, what: Callable[..., Any], *arguments: Any) -> None:
        self._loop.call_later(seconds, what, *arguments, context=self._context)

    def _join_of(self, cluster: str) -> Callable[[str], Join]:
        """The way of each operator of a cluster; what is wrong with it outlives a process."""

        def of_operator(operator: str) -> Join:
            strain = Strain(way=self.options.way)
            self._strains[cluster].append(strain)
            dice = random.Random(f"{cluster}/{operator} line {self.options.seed}")  # noqa: S311
            return lambda link, _: self._ledgers(
                cluster, link.process, Line(self.database, link, strain, dice)
            )

        return of_operator

    def _ledgers(self, cluster: str, process: str, line: Line) -> Ledgers:
        """As kwicket.ledgers does it."""
        own = Cluster(cluster)
        backlog = TimedBacklog(self.database, own, f"of {cluster}", process=process)
        self._lines.append(line)
        return Ledgers(
            line.to(SharedMemoryLedger(self.database, own, backlog)),
            self._clock,
            Sharing(line.to(backlog), self._clock, self.options.lapse),
            (line.listen,),
        )

    def _break(self, fault: Fault) -> None:
        """Something goes wrong, and heals after a while if it does not last."""
        if fault.what == "failover":
            copy = self.database.copy()
            self._after(fault.amount, self._fail_over, copy)
            return
        self._set(fault, True)
        if not fault.lasts:
            self._after(fault.seconds, self._set, fault, False)

    def _fail_over(self, copy: Copy) -> None:
        self.database.fail_over(copy)
        self._after(1, self._ring)

    def _set(self, fault: Fault, wrong: bool) -> None:
        match fault.what:
            case "down":
                self.database.down = wrong
            case "read-only":
                self.database.read_only = wrong
            case "gone":
                self._go(fault.where, wrong)
            case "still":
                for operator in self._operators_of(fault.where):
                    operator.pause() if wrong else operator.go_on()
            case _:
                for strain in self._strains[fault.where]:
                    self._worsen(strain, fault, wrong)
        if not wrong:
            self._after(1, self._ring)

    def _go(self, cluster: str, gone: bool) -> None:
        for operator in self._operators_of(cluster):
            operator.gone = gone
            operator.kill() if gone else operator.start()

    def _operators_of(self, cluster: str) -> Iterator[Operator]:
        for world in self.all:
            yield from world.operators if world.cluster == cluster else ()

    def _worsen(self, strain: Strain, fault: Fault, wrong: bool) -> None:
        amount = fault.amount if wrong else 0
        match fault.what:
            case "cut" | "apart":
                strain.cut = wrong
            case "mute":
                strain.mute = wrong
            case "late":
                strain.late = amount / 2
            case "rolled-back":
                strain.rolled_back = amount
            case "lossy":
                strain.lost_request = strain.lost_answer = amount / 2
            case "slow":
                strain.way = self.options.way + 2 * amount

    def _ring(self) -> None:
        """Those who listen again are told that anything may have been written."""
        for line in self._lines:
            line.hear(None)
