"""Operators: replicas of which each is one process after the other."""

import asyncio
import random
from collections.abc import Callable
from contextvars import copy_context

from faults.loop import BenchLoop
from faults.network import Link, Trouble
from faults.options import START
from faults.process import Clock, Process
from faults.server import Server
from faults.store import DECLARED, Change
from kwicket.kube.client import Client
from kwicket.ledgers import Ledgers
from kwicket.ports.notices import Notice
from kwicket_storage.kubernetes import KubernetesLedger

type Join = Callable[[Link, Client], Ledgers]
"""Gives a process the ledger that clusters share, by connections of its own."""


class Operator:
    """A replica: one process after the other."""

    def __init__(
        self,
        name: str,
        *,
        server: Server,
        loop: BenchLoop,
        dice: random.Random,
        ahead: int,
        elects: bool,
        told: Callable[[str, Notice], None],
        cluster: str = "",
        join: Join | None = None,
    ) -> None:
        """`ahead` in milliseconds: how far its host's clock is. `cluster` is where there are more.

        Without `join` it has the ledger that Kubernetes keeps.
        """
        self.name = name
        self.gone = False
        """Whether there is no host for it."""
        self.restored = False
        """Whether its cluster went back to a backup: processes that noticed were right."""
        self._prefix = f"{cluster}/" if cluster else ""
        self._join = join or self._alone
        self.trouble = Trouble()
        self.process: Process | None = None
        self.past: list[Process] = []
        self.kills_at = 0
        """After how many more writes it is killed; 0 for none."""
        self.clock = Clock(START, ahead)
        self._server = server
        self._loop = loop
        self._dice = dice
        self._elects = elects
        self._told = told
        self._lives = 0
        self._missed = False
        self._world = copy_context()

    def start(self) -> None:
        """Starts a process, unless one runs."""
        if self.process is not None or self.gone:
            return
        self._lives += 1
        name = f"{self._prefix}{self.name}.{self._lives}"
        link = Link(self._server, name, self._dice, self._world)
        link.trouble = self.trouble
        link.heard = self._server.store.version
        link.on_write = lambda: self._wrote(link)
        self.process = Process(
            name,
            link=link,
            clock=self.clock,
            elects=self._elects,
            told=self._told,
            join=lambda client: self._join(link, client),
        )

    def _alone(self, _: Link, client: Client) -> Ledgers:
        return Ledgers(KubernetesLedger(client), self.clock)

    def kill(self) -> None:
        """Its process never runs again."""
        if self.process is not None:
            self._loop.stop_process(self.process.name)
            self.process.link.close()
            self.past.append(self.process)
            self.process = None

    def stop(self) -> asyncio.Task[None] | None:
        """Its process is asked to end, as by SIGTERM."""
        if self.process is None:
            return None
        process, self.process = self.process, None
        process.task.cancel()
        self.past.append(process)
        return process.task

    def pause(self) -> None:
        """Its process stands still."""
        if self.process is not None:
            self._loop.stop_process(self.process.name)

    def go_on(self) -> None:
        """A process that stood still goes on."""
        if self.process is not None:
            self._loop.continue_process(self.process.name)

    def flip(self, jobs: int) -> None:
        """Its memory goes wrong: each pool counts so many Jobs more than run."""
        if self.process is not None:
            self.process.flip(jobs)

    def hear(self, change: Change) -> None:
        """Something was stored."""
        process = self.process
        if process is None:
            return
        for watch in list(process.link.watches):
            if watch.kind == change.kind:
                watch.hear(change)
        if change.kind in DECLARED:
            if self._missed or self._unheard():
                self._missed = True
            else:
                body = None if change.after is None else change.after.body
                process.hint(change.kind, change.key[1], body, change.version)

    def catch_up(self) -> None:
        """Tells it all that is declared if it has missed something, as kopf's next watch does."""
        if not self._missed or self.process is None or self._unheard():
            return
        self._missed = False
        store = self._server.store
        for kind in DECLARED:
            for stored in store.all(kind):
                name = stored.body["metadata"]["name"]
                self.process.hint(kind, name, stored.body, 0)
        self.process.hint(DECLARED[0], "", None, store.version)

    def _unheard(self) -> bool:
        trouble = self.trouble
        return trouble.cut or trouble.deaf

    def _wrote(self, link: Link) -> None:
        if self.kills_at and self.process is not None and self.process.link is link:
            self.kills_at -= 1
            if not self.kills_at:
                self.kill()

    def deaths(self) -> list[str]:
        """What its processes died of by themselves, or believe though no backup was restored."""
        found = []
        for process in [*self.past, *([self.process] if self.process else [])]:
            task = process.task
            for desk in process.engine.registry.desks() if process.engine else ():
                right = self.restored and process is not self.process
                if desk.doubt is not None and not right:
                    found.append(f"{process.name} believes that the cluster went back")
            if task.done() and not task.cancelled() and task.exception() is not None:
                found.append(f"{process.name} died: {task.exception()!r}")
        return found

    async def end(self) -> None:
        """Ends all its processes, whatever they were doing."""
        if self.process is not None:
            self.past.append(self.process)
            self.process = None
        for process in self.past:
            process.link.close()
            self._loop.continue_process(process.name)
            process.task.cancel()
        if self.past:
            await asyncio.wait([process.task for process in self.past])
