"""A PgBouncer for tests that pools transactions, between clients and a PostgreSQL.

It has fewer connections to the server than clients have to it, and takes them in turn, so that each
transaction comes by another one.
"""

import asyncio
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import pytest

from support.addresses import SOCKET, Address, by_socket
from support.databases import until
from support.programs import as_nobody, give

SETTINGS = """
[databases]
* = host={host} port={port} user={user} password={password}
[pgbouncer]
pool_mode = transaction
default_pool_size = 2
server_round_robin = 1
listen_addr =
unix_socket_dir = {folder}
listen_port = 5432
auth_type = any
logfile = {folder}/log
"""
PROGRAM = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")


@pytest.fixture(scope="session")
def pooled_url(operator_url: str) -> Iterator[str]:
    """By which an operator comes to the shared database through it."""
    if PROGRAM is None:
        pytest.skip("no pgbouncer is here: apt-get install pgbouncer")
    parts = urlsplit(operator_url)
    with TemporaryDirectory(prefix="kwicket-") as name:
        folder = Path(name)
        file = folder / "pgbouncer.ini"
        server = Address.of(operator_url)
        who = {"user": parts.username, "password": parts.password}
        at = {"host": server.host, "port": server.port}
        file.write_text(SETTINGS.format(folder=folder, **at, **who))
        give(folder)
        command = [PROGRAM, "--quiet", str(file)]
        process = subprocess.Popen(command, **as_nobody(folder))  # noqa: S603 - our own arguments
        try:
            asyncio.run(until(lambda: _listens(folder)))
            yield by_socket(operator_url, folder)
        finally:
            process.terminate()
            process.wait(10)


async def _listens(folder: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as made:
        return made.connect_ex(str(folder / SOCKET)) == 0
