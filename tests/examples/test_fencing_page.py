"""docs/fencing.md shows the files that are tested, as they are, and what it says to run runs."""

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "fencing.md").read_text()
BLOCKS = re.findall(r"^```\w+\n(.*?)^```$", PAGE, re.M | re.S)
EXAMPLES = DOCS / "examples" / "fencing"


@pytest.mark.parametrize("name", [path.name for path in sorted(EXAMPLES.glob("*.*"))])
def test_the_page_shows_each_example_as_it_is(name: str) -> None:
    assert (EXAMPLES / name).read_text() in BLOCKS
    assert f"](examples/fencing/{name})" in PAGE


def test_the_page_shows_nothing_else_but_a_workers_transaction() -> None:
    shown = {path.read_text() for path in EXAMPLES.glob("*.*")}
    [left] = [block for block in BLOCKS if block not in shown]
    assert left.startswith("BEGIN;\n")


async def test_the_workers_transaction_runs_until_a_later_start_was_there(pool: Any) -> None:
    [transaction] = [block for block in BLOCKS if block.startswith("BEGIN;\n")]
    await pool.execute("CREATE TABLE orders (state text)")
    await pool.execute("INSERT INTO orders VALUES ('paid')")
    await pool.execute(transaction)
    assert await pool.fetchval("SELECT state FROM orders") == "sent"
    await pool.execute("UPDATE orders SET state = 'paid'")
    await pool.execute("UPDATE kwicket_fences SET highest = highest + 1")
    with pytest.raises(Exception, match="too old for orders of"):
        await pool.execute(transaction)
    assert await pool.fetchval("SELECT state FROM orders") == "paid"


def test_the_readme_leads_to_the_page() -> None:
    assert "](docs/fencing.md)" in (DOCS.parent / "README.md").read_text()
