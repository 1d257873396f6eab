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
from faults.shared.restore import RESTORED, Backup
from faults.store import POOLS, Body, Change, Stored, Versions, changed
from faults.world import Voice, World
from kwicket.core.pools import GO_ON_ABOVE
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
        if fault.what == RESTORED:
            self._restore(fault)
            return
        if fault.what == "failover":
            copy = self.database.copy()
            self._after(fault.amount, self._fail_over, copy)
            return
        self._set(fault, True)
        if not fault.lasts:
            self._after(fault.seconds, self._set, fault, False)

    def _restore(self, fault: Fault) -> None:
        """A cluster goes back to what it is now while it has no operator; later it has a word."""
        [world] = [one for one in self.all if one.cluster == fault.where]
        backup, gone, back = Backup(world), 0.5 * fault.seconds, 0.6 * fault.seconds
        self._after(gone, self._go, fault.where, True)
        self._after(back, backup.restore)
        for operator in world.operators:
            operator.restored = True
        self._after(back, self._go, fault.where, False)
        self._after(fault.seconds, self._give_word, world, world.store.all(POOLS))

    def _give_word(self, world: World, pools: list[Stored], times: int = 10) -> None:
        """Again where the tokens of other clusters were higher by the time that it was heard."""
        above = {GO_ON_ABOVE: str(self._clock.now())}
        for pool in pools:
            stored = world.store.get(POOLS, ("", pool.body["metadata"]["name"]))
            if stored is not None:
                said = changed(stored.body, metadata={"annotations": above})
                world.store.put(POOLS, said, "administrator")
        if times:
            self._after(30, self._ask, world, times - 1)

    def _ask(self, world: World, times: int) -> None:
        doubted = [pool for pool in world.store.all(POOLS) if _went_back(pool.body)]
        self._give_word(world, doubted, times)

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


def _went_back(pool: Body) -> bool:
    """Whether it says so."""
    return any(c["reason"] == "WentBack" for c in pool.get("status", {}).get("conditions", ()))
