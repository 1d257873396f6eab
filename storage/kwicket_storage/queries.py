"""The queries, each in a file of `sql/` that is named for it."""

from functools import cache
from importlib.resources import files


@cache
def query(name: str) -> str:
    """The text of `sql/NAME.sql`, such as `ledger/read`."""
    return files("kwicket_storage").joinpath("sql", f"{name}.sql").read_text()
