"""Bare loops: the least that anybody could do to start suspended Jobs, with no decision at all."""

import asyncio
from collections.abc import Callable, Iterator
from itertools import islice

from e2e import objects
from e2e.load import IN_FLIGHT, jobs_path
from e2e.observer import Observer
from e2e.plane.api import Api

type Ended = Callable[[Observer], int]


def by_pods(observer: Observer) -> int:
    """How many Jobs have a pod that Succeeded."""
    return len(observer.succeeded)


def by_conditions(observer: Observer) -> int:
    """How many Jobs are Complete."""
    return len(observer.complete)


async def loop(
    api: Api, namespace: str, names: list[str], *, slots: int, observer: Observer, ended: Ended
) -> None:
    """Keeps `slots` Jobs started, the next one as soon as one has `ended`, until all have."""
    waiting = iter(names)
    granted = 0
    async with asyncio.TaskGroup() as group:
        while ended(observer) < len(names):
            for name in _next(waiting, slots - (granted - ended(observer))):
                granted += 1
                group.create_task(start(api, namespace, name, granted))
            await observer.until(_more_than(ended(observer), ended))


async def at_once(api: Api, namespace: str, names: list[str]) -> None:
    """Starts all Jobs, some patches in flight at a time."""
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def one(number: int, name: str) -> None:
        async with gate:
            await start(api, namespace, name, number)

    await asyncio.gather(*(one(number, name) for number, name in enumerate(names, start=1)))


async def start(api: Api, namespace: str, name: str, token: int) -> None:
    """The patch of a grant. An administrator's needs the operator's field manager, or the policies
    keep the Job suspended.
    """
    path = f"{jobs_path(namespace)}/{name}"
    await api.patch(path, objects.start(str(token)), fieldManager="kwicket")


def _more_than(count: int, ended: Ended) -> Callable[[Observer], bool]:
    return lambda observer: ended(observer) > count


def _next(names: Iterator[str], count: int) -> list[str]:
    return list(islice(names, count))
