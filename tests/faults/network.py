"""The network between an operator and the API server: latency, lost answers and late ones.

What is on its way belongs to the world: it arrives, whatever became of the process that sent it.
"""

import asyncio
import random
from collections.abc import Mapping
from contextvars import Context
from typing import Any

import aiohttp
from msgspec import Struct

from faults.server import Asked, Reply, Server, refusal


class Trouble(Struct):
    """What goes wrong on one operator's way to the API server, each as a chance from 0 to 1."""

    lost_request: float = 0
    """It never arrives, and nobody says so."""
    lost_answer: float = 0
    """It is done, and no answer comes."""
    reset: float = 0
    """It is done, and the connection is reset before the answer."""
    late: float = 0
    """It is done long after the client has given up."""
    busy: float = 0
    """HTTP 429 with Retry-After; nothing is done."""
    broken: float = 0
    """HTTP 500, 503 or 504: done or not."""
    forbidden: frozenset[str] = frozenset()
    """Kinds of which lists are HTTP 403."""
    unwritable: frozenset[str] = frozenset()
    """Kinds that can't be written: HTTP 403."""
    cut: bool = False
    """There is no connection."""
    deaf: bool = False
    """Requests arrive, answers don't."""
    silent: frozenset[str] = frozenset()
    """Kinds whose watches say nothing more, and don't end either."""
    closing: frozenset[str] = frozenset()
    """Kinds whose watches end as soon as they begin."""
    slow: float = 0.02
    """Seconds that one way takes, on average."""
    lag: float = 0.02
    """Seconds that a watch is behind, on average."""
    replays: int = 0
    """How many events from before its beginning every other watch repeats."""


class Link:
    """One process's connections. `world` is the context in which the world's callbacks run."""

    def __init__(self, server: Server, process: str, dice: random.Random, world: Context) -> None:
        self.server = server
        self.process = process
        self.trouble = Trouble()
        self.heard = 0
        """Up to which version this process has heard of declarations."""
        self.writes = 0
        """How many writes of this process were applied."""
        self.open = True
        self.on_write: Any = lambda: None
        """Called when a write was applied, before its answer goes on its way."""
        self.watches: dict[Any, None] = {}
        """In the order in which they were opened."""
        self._dice = dice
        self._world = world
        self._loop = asyncio.get_running_loop()

    def after(self, seconds: float, what: Any, *arguments: Any) -> asyncio.TimerHandle:
        """Calls it in the world."""
        return self._loop.call_later(seconds, what, *arguments, context=self._world)

    def chance(self, of: float) -> bool:
        """Whether it happens this time."""
        return self._dice.random() < of

    def way(self) -> float:
        """Seconds that a message takes."""
        return self._dice.expovariate(1 / self.trouble.slow)

    async def exchange(self, asked: Asked) -> tuple[Reply, Mapping[str, str]]:
        """A request and its answer. Raises what aiohttp raises."""
        trouble, dice = self.trouble, self._dice
        if not self.open or trouble.cut:
            raise aiohttp.ClientConnectionError("no route")
        answer: asyncio.Future[Any] = self._loop.create_future()
        fate = dice.random()
        if trouble.late and fate < trouble.late:
            self.after(dice.uniform(15, 40), self._do, asked)
        elif fate >= trouble.late + trouble.lost_request:
            self.after(self.way(), self._arrive, asked, answer)
        reply: tuple[Reply, Mapping[str, str]] = await answer
        return reply

    def _do(self, asked: Asked) -> Reply:
        reply = self.server.answer(asked)
        if asked.writes and reply.status < 300:
            self.writes += 1
            self.on_write()
        return reply

    def _arrive(self, asked: Asked, answer: asyncio.Future[Any]) -> None:
        trouble, dice = self.trouble, self._dice
        if trouble.busy and dice.random() < trouble.busy:
            self._return(answer, refusal(429, "too many requests"), {"Retry-After": "1"})
        elif trouble.broken and dice.random() < trouble.broken:
            done = dice.random() < 0.5
            if done:
                self._do(asked)
            why = "etcdserver: request timed out" if done else "failed calling webhook"
            self._return(answer, refusal(dice.choice((500, 503, 504)), why), {})
        elif self._forbids(asked):
            self._return(answer, refusal(403, "forbidden"), {})
        else:
            reply = self._do(asked)
            fate = dice.random()
            if fate < trouble.reset:
                self.after(self.way(), fail, answer, aiohttp.ClientOSError("reset by peer"))
            elif fate >= trouble.reset + trouble.lost_answer and not trouble.deaf:
                self._return(answer, reply, {})

    def _forbids(self, asked: Asked) -> bool:
        kind, trouble = asked.place.kind, self.trouble
        listing = asked.method == "GET" and not asked.place.name
        return kind in (trouble.forbidden if listing else trouble.unwritable) and (
            listing or asked.method != "GET"
        )

    def _return(
        self, answer: asyncio.Future[Any], reply: Reply, headers: Mapping[str, str]
    ) -> None:
        self.after(self.way(), resolve, answer, (reply, headers))

    def cut_watches(self) -> None:
        """All open watches end with an error."""
        for watch in list(self.watches):
            watch.end(aiohttp.ClientPayloadError("cut"))

    def close(self) -> None:
        """Nobody listens any more."""
        self.open = False
        self.cut_watches()


def resolve(answer: asyncio.Future[Any], value: Any) -> None:
    """Gives an answer, if somebody still waits for it."""
    if not answer.done():
        answer.set_result(value)


def fail(answer: asyncio.Future[Any], error: Exception) -> None:
    """Gives an error for an answer, if somebody still waits for it."""
    if not answer.done():
        answer.set_exception(error)
