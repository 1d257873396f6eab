"""The examples of the pages meet real servers and processes, on a loop whose time is real."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import asyncpg
import pytest

FENCE = Path(__file__).parents[2] / "docs" / "examples" / "fencing" / "postgres.sql"


def pytest_asyncio_loop_factories() -> Mapping[str, Any]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture
async def pool(postgres: str) -> AsyncIterator[Any]:
    """Connections whose schema has the fence, and a table that a worker writes to."""
    schema = f"test_{uuid.uuid4().hex}"
    settings = {"search_path": schema}
    async with asyncpg.create_pool(
        postgres, min_size=0, max_size=8, server_settings=settings
    ) as made:
        await made.execute(f"CREATE SCHEMA {schema}")
        await made.execute(FENCE.read_text())
        await made.execute(
            "CREATE TABLE written (place bigint GENERATED ALWAYS AS IDENTITY,"
            " resource text, token bigint)"
        )
        yield made
        await made.execute(f"DROP SCHEMA {schema} CASCADE")
