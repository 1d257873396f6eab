"""Commands as a user runs them."""

import asyncio
from pathlib import Path

from click.testing import CliRunner, Result

from kwicket.cli import main


async def run_ledger(*words: str | Path) -> Result:
    """`kwicket ledger` in a thread of its own, since it has a loop of its own."""
    return await asyncio.to_thread(CliRunner().invoke, main, ["ledger", *map(str, words)])
