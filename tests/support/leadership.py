"""Leadership for tests."""

import asyncio
from typing import Self


class Unopposed:
    """Always, with nothing to run and nothing to give back."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def run(self) -> None:
        """Returns at once."""

    def leads(self) -> bool:
        """Yes."""
        return True

    async def gained(self) -> None:
        """At once."""

    async def lost(self) -> None:
        """Never."""
        await asyncio.Event().wait()
