"""`kwicket ledger`: what it says and does, on a real PostgreSQL."""

from pathlib import Path

import pytest

from support.commands import run_ledger as run
from support.tls import Secured


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    """A file with the URL of no server, and a password."""
    file = tmp_path / "hidden"
    file.write_text("postgresql://east:hidden@127.0.0.1:1/kwicket")
    return file


async def test_the_schema_is_made_once(url: Path) -> None:
    first = await run("migrate", "--postgres", url)
    assert (first.exit_code, first.stdout) == (0, "applied 0001 ledger\n")
    second = await run("migrate", "--postgres", url)
    assert (second.exit_code, second.stdout) == (0, "the schema is up to date\n")


async def test_a_cluster_that_is_not_there_is_not_forgotten(url: Path) -> None:
    await run("migrate", "--postgres", url)
    refused = await run("forget", "--postgres", url, "--pool", "gpus", "--cluster", "east")
    assert refused.exit_code == 1
    assert "east does not share gpus, or gave a sign of life within 90 s" in refused.output


async def test_a_server_that_is_not_there_is_said_without_the_password(hidden: Path) -> None:
    refused = await run("migrate", "--postgres", hidden)
    assert refused.exit_code == 1
    assert "kwicket ledger migrate: " in refused.output
    assert "hidden" not in refused.output


async def test_a_server_that_proves_who_it_is_by_another_is_not_migrated(
    tls: Secured, tmp_path: Path
) -> None:
    file = tmp_path / "url"
    file.write_text(tls.url(trusts=tls.another))
    refused = await run("migrate", "--postgres", file)
    assert refused.exit_code == 1
    assert "sslrootcert must name the authority" in refused.output
