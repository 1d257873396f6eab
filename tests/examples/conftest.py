"""The examples of the pages meet real servers and processes, on a loop whose time is real."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from support.databases import Database

FENCE = Path(__file__).parents[2] / "docs" / "examples" / "fencing" / "postgres.sql"
LEDGERS = """
    TRUNCATE kwicket.fences;
    CREATE FUNCTION kwicket_fence(resource text, token bigint) RETURNS void
        LANGUAGE sql AS 'SELECT kwicket.fence(resource, token)';
    CREATE VIEW kwicket_fences AS SELECT resource AS name, highest FROM kwicket.fences;
"""

MADE = """
    CREATE TABLE written
        (place bigint GENERATED ALWAYS AS IDENTITY, resource text, token bigint);
    GRANT ALL ON SCHEMA {schema} TO {user};
    GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {user};
"""


def pytest_asyncio_loop_factories() -> Mapping[str, Any]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture(params=["example", "ledger"])
async def pool(request: pytest.FixtureRequest, database: Database) -> AsyncIterator[Any]:
    """Connections of a worker, in whose schema are the fence and a table that it writes to.

    The fence is the example's, or the one that comes with the ledger; in the ledger's own schema it
    has the rights of kwicket_worker alone.
    """
    schema, fence = f"test_{uuid.uuid4().hex}", FENCE.read_text()
    worker = await database.member("kwicket_worker")
    administrator = await asyncpg.connect(database.url, server_settings={"search_path": schema})
    await administrator.execute(f"CREATE SCHEMA {schema}")
    await administrator.execute(fence if request.param == "example" else LEDGERS)
    await administrator.execute(MADE.format(schema=schema, user=urlsplit(worker).username))
    async with asyncpg.create_pool(
        worker, min_size=0, max_size=8, server_settings={"search_path": schema}
    ) as connections:
        yield connections
    await administrator.execute(f"DROP SCHEMA {schema} CASCADE")
    await administrator.close()
