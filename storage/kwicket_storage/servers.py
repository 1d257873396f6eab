"""The servers that a URL names, by which each connection is made.

The URL may be in a file, which is read again for each connection: another user, password or host
may have been written into it.
"""

import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import structlog

from kwicket_storage.advice import UrlError

CONNECT = 5.0
"""Seconds to connect to one server."""
ANSWER = 8.0
"""Seconds until a server that does not answer is given up."""
UNREACHED = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)

type Connection = Any
type Url = str | Path
"""A URL, or the file that has it."""

_log = structlog.get_logger(__name__)


async def connect(server: str) -> Connection:
    """A connection to one server, if that takes writes. Raises UrlError, and UNREACHED."""
    return await _connect(server, ANSWER)


async def connect_for_long(server: str) -> Connection:
    """The same, for statements that may take any time."""
    return await _connect(server, None)


class Servers:
    """Those of one URL; the one that took writes last is asked first."""

    def __init__(self, url: Url) -> None:
        """Raises UrlError."""
        self._file = url if isinstance(url, Path) else None
        self._text = _read(url) if isinstance(url, Path) else url
        self._known = list(servers(self._text))
        self._said = ""

    def names(self, server: str) -> bool:
        """Whether a server is one of them still, by the same user and password."""
        return server in self._known

    async def reached(self, make: Callable[[str], Awaitable[Any]] = connect) -> Any:
        """A connection, or what is made of it, to the first server that takes writes.

        What was written into the file and can't be understood is logged, and what it had before is
        gone by. Raises UrlError, and UNREACHED: what a server answered rather than that another one
        was not reached.
        """
        before = self._text, self._known
        self._renew()
        try:
            return await _first(self._known, make)
        except UrlError:
            error = UrlError(file=self._file)
            if self._known is before[1]:
                raise error from None
        self._text, self._known = before
        self._keep(error)
        return await _first(self._known, make)

    def _renew(self) -> None:
        """Goes by what the file has now."""
        if self._file is None:
            return
        try:
            text = _read(self._file)
        except UrlError as error:
            self._keep(error)
            return
        if text == self._text:
            self._said = ""
        else:
            self._text, self._known = text, list(servers(text))

    def _keep(self, error: UrlError) -> None:
        """Says once that the URL of before stays in use."""
        if self._said != str(error):
            self._said = str(error)
            _log.warning("connecting by the URL of before", error=self._said)


def servers(url: str) -> tuple[str, ...]:
    """A URL for each server that the URL names. Raises UrlError."""
    try:
        parts = urlsplit(url)
        user, at, hosts = parts.netloc.rpartition("@")
        made = [parts._replace(netloc=f"{user}{at}{host}") for host in hosts.split(",")]
        known = parts.scheme in {"postgresql", "postgres"} and not parts.fragment
        if not known or any(one.port == 0 for one in made):
            raise ValueError
        return tuple(one.geturl() for one in made)
    except ValueError:
        raise UrlError from None


def _read(file: Path) -> str:
    """Raises UrlError, which says which file it is, and nothing of what is in it."""
    try:
        text = file.read_text().strip()
    except UnicodeDecodeError:
        raise UrlError("a URL is text, and what is in this file is none", file) from None
    except OSError as error:
        raise UrlError(f"this file can't be read: {error.strerror}", file) from error
    if not text:
        raise UrlError("this file is empty: write the URL into it", file)
    try:
        servers(text)
    except UrlError:
        raise UrlError(file=file) from None
    return text


async def _connect(server: str, answer: float | None) -> Connection:
    try:
        return await asyncpg.connect(
            server,
            timeout=CONNECT,
            command_timeout=answer,
            statement_cache_size=0,
            target_session_attrs="read-write",
        )
    except ssl.SSLCertVerificationError:  # a ValueError too
        raise
    except ValueError:  # its text may hold a part of the password
        raise UrlError from None


async def _first(known: list[str], make: Callable[[str], Awaitable[Any]]) -> Any:
    """By the first of those known then. Each gets its own time: one may give no sign of life."""
    failed: list[Exception] = []
    for server in tuple(known):
        try:
            made = await make(server)
        except UNREACHED as error:
            failed.append(error)
        else:
            known.remove(server)
            known.insert(0, server)
            return made
    raise max(failed, key=lambda error: not isinstance(error, OSError))
