"""Where the PostgreSQL server of a URL listens, for what tests put between it and its clients."""

import asyncio
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

from msgspec import Struct

PORT = 5432
SOCKET = f".s.PGSQL.{PORT}"


class Address(Struct, frozen=True):
    """A host, or the folder of a socket, and the port that belongs to it."""

    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Self:
        """Of the one server that a URL names, however it does."""
        parts = urlsplit(url)
        asked = parse_qs(parts.query)
        host = unquote(parts.hostname or "") or asked["host"][0]
        return cls(host, parts.port or int(asked.get("port", [str(PORT)])[0]))

    @property
    def named(self) -> str:
        """As a URL names it among others."""
        bracketed = f"[{self.host}]" if ":" in self.host else quote(self.host, safe="")
        return f"{bracketed}:{self.port}"

    async def opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to it."""
        if self.host.startswith("/"):
            return await asyncio.open_unix_connection(Path(self.host) / f".s.PGSQL.{self.port}")
        return await asyncio.open_connection(self.host, self.port)


def by_socket(url: str, folder: Path) -> str:
    """The same URL by a socket in a folder instead, on which nothing is encrypted."""
    parts = urlsplit(url)
    user = parts.netloc.rpartition("@")[0]
    return parts._replace(netloc=f"{user}@", query=f"host={folder}").geturl()
