"""Lists: all Jobs and pods as they were after a page of the ledger was read, with no list too many.

A grant that has left a page was seen on its Job before: a list that was begun after the page was
read has it. Where nobody has written a page since before the first lists, those are such lists.
"""

import asyncio
import contextlib
from collections.abc import Iterable

from kwicket.engine.desk import Desk
from kwicket.ports.cluster import Cluster
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Ledger, Page

YOUNG = 30.0
"""Seconds for which the first lists serve: later on only watches told what has changed since, and
they are a hint."""


class Lists:
    """Remembers each desk's page until its pool is recovered for the first time."""

    def __init__(self, ledger: Ledger, cluster: Cluster) -> None:
        self._ledger = ledger
        self._cluster = cluster
        self._first: dict[Desk, Page] = {}
        self._read_at = float("-inf")
        self._read_all = asyncio.Event()

    async def foresee(self, desks: Iterable[Desk]) -> None:
        """Reads the pages, before anything is listed; of one that can't be read nothing is kept.

        Where clusters share the ledger, no page is read before they were told what runs here.
        """
        self._read_at = asyncio.get_running_loop().time()
        await asyncio.gather(*(self._read(desk) for desk in desks if desk.share is None))
        self._read_all.set()

    async def since(self, desk: Desk, page: Page | None) -> None:
        """Returns when Jobs and pods are known as they were after this page was read, or later.

        It waits for `foresee`. Raises UnavailableError.
        """
        await self._read_all.wait()
        first = self._first.pop(desk, None)
        young = asyncio.get_running_loop().time() < self._read_at + YOUNG
        if page is not None and page == first and young:
            await self._cluster.listed()
        else:
            await self._cluster.relist()

    async def _read(self, desk: Desk) -> None:
        with contextlib.suppress(UnavailableError, ValueError):
            page = await self._ledger.read(desk.name)
            if page is not None:
                self._first[desk] = page
