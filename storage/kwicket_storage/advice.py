"""What to do about an error of PostgreSQL, and the one kind of error that callers see."""

import socket
import ssl
from pathlib import Path

import asyncpg

from kwicket.ports.errors import UnavailableError

LONGEST_TEXT = 300
WRITABLE = (
    "the server takes no writes: it is a standby or read-only; name all servers in the URL,"
    " HOST:PORT,HOST:PORT, or end what makes it read-only"
)
_ADVICE: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    (
        (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError),
        "check the user and the password of the URL, and the server's pg_hba.conf",
    ),
    (
        (asyncpg.InvalidCatalogNameError,),
        "make the database, or name another one in the URL",
    ),
    (
        (asyncpg.UndefinedTableError, asyncpg.UndefinedFunctionError),
        "run kwicket ledger migrate first",
    ),
    (
        (asyncpg.InsufficientPrivilegeError,),
        "GRANT kwicket_operator TO the user of the URL",
    ),
    ((asyncpg.TargetServerAttributeNotMatched, asyncpg.ReadOnlySQLTransactionError), WRITABLE),
    ((asyncpg.DiskFullError,), "make room on the server's disk"),
    (
        (asyncpg.TooManyConnectionsError,),
        "raise max_connections, or put a PgBouncer before the server",
    ),
    ((socket.gaierror,), "check the host in the URL"),
    (
        (ssl.SSLCertVerificationError,),
        "the URL's sslrootcert must name the authority that signed the server's certificate,"
        " and its host the one that the certificate is for",
    ),
    (
        (ssl.SSLError,),
        "the file of the URL's sslrootcert must hold certificates as PEM, and what answers at the"
        " URL's host and port must be a PostgreSQL with ssl = on",
    ),
    ((ConnectionRefusedError,), "check host and port of the URL"),
    (
        (FileNotFoundError,),
        "check host and port of the URL, and that the file of its sslrootcert is there",
    ),
)
_URL = (
    "PostgreSQL: the URL can't be understood; it is"
    " postgresql://USER:PASSWORD@HOST:PORT/DATABASE, / ? # @ : % in a password are written"
    " as %2F %3F %23 %40 %3A %25, and sslmode=verify-full needs an sslrootcert"
)


class UrlError(ValueError):
    """A URL can't be read or understood: says which file it is in, and has no part of it."""

    def __init__(self, why: str = _URL, file: Path | None = None) -> None:
        super().__init__(why if file is None else f"{file}: {why}")


def unavailable(error: BaseException) -> UnavailableError:
    """The error that a caller sees: what happened, and what to do about it."""
    state = getattr(error, "sqlstate", None)
    text = " ".join(str(error).split())[:LONGEST_TEXT] or "no answer in time"
    way_out = next((said for kinds, said in _ADVICE if isinstance(error, kinds)), "")
    parts = (
        f"PostgreSQL: {text}",
        f" ({state})" if state else "",
        f": {way_out}" if way_out else "",
    )
    return UnavailableError("".join(parts))
