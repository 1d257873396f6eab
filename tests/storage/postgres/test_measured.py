"""The benchmark of the ledger, as far as it needs nothing that `make setup` does not install."""

import json

import pytest
from click.testing import CliRunner

from bench.postgres import __main__ as measured

SMALL = ("--operators", "1", "--pools", "1", "--tenants", "16", "--seconds", "0.5", "--json")


def test_without_the_peer_it_measures_all_but_the_ratio_and_says_how_to_get_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measured, "PEER", ("no_such_package",))
    result = CliRunner().invoke(measured.main, SMALL)
    assert result.exit_code == 0
    assert "pip install 'wicket[postgres]'" in result.stderr
    [size] = json.loads(result.stdout)["sizes"]
    assert size["kwicket"]["grants_per_second"] > 0
    assert "ratio" not in size
