"""The runs: 200 Jobs through a few slots, and 400 released at once, each way of starting them."""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e import load, operators, statuses
from e2e.bench import bare, writes
from e2e.observer import Observer
from e2e.plane.api import Api

type Drain = Callable[[Observer, list[str]], Awaitable[None]]


class Bench:
    """One plane with the chart on it; every run gets a namespace of its own."""

    def __init__(self, api: Api, kubeconfig: Path, log: Path, command: list[str]) -> None:
        self._api = api
        self._kubeconfig = kubeconfig
        self._log = log
        self._command = command
        self._number = 0

    async def bare(self, jobs: int, slots: int, ended: bare.Ended) -> float:
        """Seconds until the last of `jobs` Jobs has ended, with a bare loop."""
        namespace = await self._namespace()
        names = await self._create(namespace, jobs)
        async with Observer.watching(self._api, namespace) as observer:
            begin = time.monotonic()
            await bare.loop(
                self._api, namespace, names, slots=slots, observer=observer, ended=ended
            )
            return max(observer.succeeded.values()) - begin

    async def bare_at_once(self, jobs: int) -> float:
        """Seconds until the last of `jobs` Jobs is seen started, with parallel patches."""
        namespace = await self._namespace()
        names = await self._create(namespace, jobs)
        async with Observer.watching(self._api, namespace) as observer:
            begin = time.monotonic()
            await bare.at_once(self._api, namespace, names)
            await observer.until(lambda o: len(o.started) == jobs)
            last = max(observer.started.values()) - begin
            await observer.until(lambda o: len(o.complete) == jobs, seconds=120)
            return last

    async def kwicket(self, jobs: int, slots: int | None) -> tuple[float, float, float]:
        """Seconds to the last start and to the last end, and writes a Job, with Kwicket."""
        namespace = await self._namespace()
        await load.make_pool(self._api, namespace, slots, paused=True)
        await self._create(namespace, jobs)
        with self._operator():
            await statuses.shown(self._api, namespace, waiting=jobs)
            async with Observer.watching(self._api, namespace) as observer:
                before = await writes.counted(self._api)
                begin = time.monotonic()
                await load.pause(self._api, namespace, False)
                await observer.until(lambda o: len(o.complete) == jobs, seconds=120)
                after = await writes.counted(self._api) - 1
        await load.drop_pool(self._api, namespace, slots is not None)
        last_start = max(observer.started.values()) - begin
        last_end = max(observer.succeeded.values()) - begin
        return last_start, last_end, (after - before) / jobs

    async def _namespace(self) -> str:
        self._number += 1
        name = f"bench-{self._number}"
        await self._api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        await self._api.until(account, lambda seen: seen is not None)
        return name

    async def _create(self, namespace: str, jobs: int) -> list[str]:
        tenants = ("alice", "bob", "carol")
        names = [f"job-{number}" for number in range(jobs)]
        await load.create_jobs(
            self._api,
            namespace,
            (
                load.labelled_job(name, tenants[n % 3], self._command, pool=namespace)
                for n, name in enumerate(names)
            ),
        )
        return names

    @contextmanager
    def _operator(self) -> Iterator[None]:
        with operators.running(self._kubeconfig, self._log):
            yield
