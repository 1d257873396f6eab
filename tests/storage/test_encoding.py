"""The state of a pool as plain data, and back, exactly; anything else is refused."""

import json
from typing import Any

import pytest
from hypothesis import given

from kwicket.core.state import State
from kwicket_storage.encoding import decoded, encoded
from support import strategies
from support.contract import FULL


@given(strategies.states())
def test_every_state_comes_back_as_it_was(state: State) -> None:
    assert decoded(json.loads(json.dumps(encoded(state)))) == state


def test_a_full_state_in_words() -> None:
    """The names are those of the Ledger's schema; tokens and fractions are text."""
    data = encoded(FULL)
    assert data["version"] == "999999999999999998"
    assert data["virtualTime"] == f"{10**30}/7"
    assert data["tags"][0] == {"tenant": "alice", "at": str(10**31)}
    assert data["standing"] == [{"tenant": "carol", "at": "0"}]
    assert data["starts"][1] == {"tenant": "alice", "lane": "gpu", "at": [1_000_000]}
    assert data["intents"][0] == {
        "token": "999999999999999998",
        "job": "team/a-1",
        "uid": "a-1",
        "tenant": "alice",
        "lane": "gpu",
        "width": 3,
        "at": 1_000_000,
        "cost": "1/997",
    }
    assert data["startsSince"] == [{"limit": "rate", "at": 999_995}]
    assert data["lastGrant"] == 1_000_001


def test_starts_of_one_tenant_in_one_lane_are_written_together() -> None:
    state = decoded({"version": "1", "starts": [{"tenant": "a", "lane": "", "at": [3, 1, 2]}]})
    assert encoded(state)["starts"] == [{"tenant": "a", "lane": "", "at": [1, 2, 3]}]


def test_what_a_later_version_adds_is_passed_over() -> None:
    assert decoded({"version": "7", "reservations": [{"uid": "x"}]}) == State(7)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"version": 7},
        {"version": None},
        {"version": ""},
        {"version": "0"},
        {"version": "-1"},
        {"version": "07"},
        {"version": " 7"},
        {"version": "+7"},
        {"version": "1_0"},
        {"version": "٣"},
        {"version": "1.0"},
        {"version": "9" * 19},
        {"version": "9" * 5000},
        {"version": "7", "virtualTime": "1/0"},
        {"version": "7", "virtualTime": "nan"},
        {"version": "7", "virtualTime": "-1"},
        {"version": "7", "virtualTime": "0.5"},
        {"version": "7", "virtualTime": "1e3"},
        {"version": "7", "virtualTime": "1e999999999"},
        {"version": "7", "virtualTime": " 1"},
        {"version": "7", "virtualTime": "٣"},
        {"version": "7", "virtualTime": 1},
        {"version": "7", "virtualTime": "9" * 5000},
        {"version": "7", "virtualTime": "2", "tags": [{"tenant": "a", "at": "2"}]},
        {"version": "7", "virtualTime": "2", "standing": [{"tenant": "a", "at": "2"}]},
        {"version": "7", "tags": {"a": "2"}},
        {"version": "7", "tags": [{"tenant": "a"}]},
        {"version": "7", "starts": [{"tenant": "a", "lane": "", "at": ["1"]}]},
        {"version": "7", "starts": [{"tenant": "a", "lane": "", "at": [1.5]}]},
        {"version": "7", "lastGrant": "1"},
        {"version": "7", "intents": [{}]},
    ],
)
def test_data_that_is_no_state_is_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"ledger|state|fairness"):
        decoded(spec)


@pytest.mark.parametrize(
    "broken",
    [
        {"token": "x"},
        {"token": "0"},
        {"token": 7},
        {"cost": "-1"},
        {"cost": "1/0"},
        {"width": -1},
        {"width": "1"},
        {"uid": None},
    ],
)
def test_an_intent_that_is_none_is_refused(broken: dict[str, Any]) -> None:
    intact = encoded(FULL)["intents"][0]
    assert len(decoded({"version": "7", "intents": [intact]}).intents) == 1
    with pytest.raises(ValueError, match="ledger"):
        decoded({"version": "7", "intents": [intact | broken]})
