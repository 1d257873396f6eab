"""Every query stands in a file of its own."""

import re
from pathlib import Path

import kwicket_storage

STORAGE = Path(kwicket_storage.__file__).parents[1]
TABLE = re.compile(r"\bkwicket\.(?:pools|grants|tickets|members|feeds|fences|shares)\b")


def test_no_module_names_a_table() -> None:
    """So whoever changes one finds all that reads it among the files of `sql/`."""
    modules = sorted(STORAGE.rglob("*.py"))
    assert modules
    assert [str(one) for one in modules if TABLE.search(one.read_text())] == []
