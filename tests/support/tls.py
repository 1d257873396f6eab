"""A PostgreSQL for tests that speaks TLS, by a certificate of an authority of its own.

By other programs than those of the wheel, which are built without TLS.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import pytest
from msgspec import Struct

from kwicket.kube.certificates import Certificate, issue
from kwicket_storage.schema import migrate
from support.programs import WHEEL, Programs, give, kinds
from support.servers import served

ADDRESS, NAME = "127.0.0.1", "localhost"
"""Where it listens, and the one name that its certificate is for."""


class Secured(Struct, frozen=True):
    """One that runs, and the files of authorities by which its clients judge it."""

    port: int
    trusted: Path
    """Of the authority that signed its certificate."""
    another: Path
    """Of one that signed another certificate for the same name."""

    def url(self, *, host: str = NAME, trusts: Path | None = None) -> str:
        """By which its administrator comes, who looks at its certificate and its name."""
        query = {"sslmode": "verify-full", "sslrootcert": str(trusts or self.trusted)}
        return f"postgresql://postgres@{host}:{self.port}/postgres?{urlencode(query)}"


@contextmanager
def secured(programs: Programs, folder: Path) -> Iterator[Secured]:
    """A server that runs, in a folder that must be empty."""
    certificate, stranger = (issue([NAME], datetime.now(UTC)) for _ in range(2))
    trusted, another, server = (folder / name for name in ("trusted", "another", "server"))
    trusted.write_bytes(certificate.authorities)
    another.write_bytes(stranger.authorities)
    server.mkdir()
    with _port() as port, served(programs, server, _settings(certificate, folder, port)):
        yield Secured(port, trusted, another)


def _settings(certificate: Certificate, folder: Path, port: int) -> dict[str, str]:
    chain, key = folder / "chain", folder / "key"
    chain.write_bytes(certificate.chain)
    key.touch(0o600)
    key.write_bytes(certificate.key)
    give(folder)
    files = {"ssl_cert_file": str(chain), "ssl_key_file": str(key)}
    return {"ssl": "on", "listen_addresses": ADDRESS, "port": str(port), **files}


@contextmanager
def _port() -> Iterator[int]:
    """One that nobody else gets: it is bound here, and a server may listen there all the same."""
    with socket.socket() as kept:
        kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        kept.bind((ADDRESS, 0))
        yield kept.getsockname()[1]


@pytest.fixture(scope="session")
def tls() -> Iterator[Secured]:
    """One whose schema is up to date; tests share it, and name pools of their own."""
    kind = next((kind for kind in kinds() if kind != WHEEL), None)
    if kind is None:
        pytest.skip(
            "no PostgreSQL that speaks TLS is here: make postgres, or apt-get install postgresql"
        )
    with TemporaryDirectory(prefix="kwicket-") as folder:
        own = Path(folder, "tls")
        own.mkdir()
        with secured(Programs.of(kind, Path(folder)), own) as made:
            asyncio.run(migrate(made.url()))
            yield made
