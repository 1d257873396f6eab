"""The state of a pool as plain data, and back, exactly; anything else is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from msgspec import Struct

from kwicket.core.state import State
from kwicket.ports.ledger import PageError
from kwicket_storage import spec
from kwicket_storage.encoding import decoded, encoded, of_text
from support import strategies
from support.contract import FULL

LEAST = {"version": "7", "scale": "1"}
LISTS = (
    "tags",
    "standing",
    "credits",
    "charges",
    "means",
    "reservations",
    "intents",
    "startsSince",
    "starts",
)


@given(strategies.states())
def test_every_state_comes_back_as_it_was(state: State) -> None:
    assert decoded(json.loads(json.dumps(encoded(state)))) == state


def test_a_full_state_in_words() -> None:
    """The names are those of the Ledger's schema; what may pass 2^53 is text."""
    data = encoded(FULL)
    assert data["version"] == "999999999999999998"
    assert (data["scale"], data["virtualTime"]) == (str(997 * 991), str(10**30))
    assert data["tags"][0] == {"tenant": "alice", "at": str(10**31)}
    assert data["standing"] == [{"tenant": "carol", "at": "0"}]
    assert data["credits"] == [{"tenant": "dave", "amount": str(10**20 + 1)}]
    assert data["charging"] == "Time"
    assert data["means"][0] == {"tenant": "zoe", "mean": 60_000}
    assert data["starts"][1] == {"tenant": "alice", "lane": "gpu", "at": [1_000_000]}
    assert data["intents"][0] == {
        "token": "999999999999999998",
        "job": "team/a-1",
        "uid": "a-1",
        "tenant": "alice",
        "lane": "gpu",
        "width": 3,
        "at": 1_000_000,
        "charge": str(2**60),
    }
    assert data["startsSince"] == [{"limit": "rate", "at": 999_995}]
    assert data["lastGrant"] == 1_000_001


def test_a_reservation_in_words() -> None:
    """One for which no room is kept says nothing of it."""
    first, second = encoded(FULL)["reservations"]
    assert first == {
        "job": "team/w-2",
        "uid": "w-2",
        "tenant": "carol",
        "lane": "gpu",
        "width": 8,
        "at": 1_000_001,
        "charge": "480000",
        "kept": 1_000_002,
    }
    assert "kept" not in second


def test_an_open_charge_is_a_short_line_since_there_is_one_for_each_running_job() -> None:
    alices, bobs = encoded(FULL)["charges"]
    assert alices == {"tenant": "alice", "open": [f"999999999999999998 3 1000000 {2**60}"]}
    assert bobs == {"tenant": "bob", "open": [f"{2**53 + 1} 0 1000000 0"]}


def test_starts_of_one_tenant_in_one_lane_are_written_together() -> None:
    state = decoded(LEAST | {"starts": [{"tenant": "a", "lane": "", "at": [3, 1, 2]}]})
    assert encoded(state)["starts"] == [{"tenant": "a", "lane": "", "at": [1, 2, 3]}]


@pytest.mark.parametrize("field", ["", *LISTS])
def test_what_a_later_version_adds_is_refused_wherever_it_is(field: str) -> None:
    """Who writes the rest back loses it; the way out is said."""
    intact = encoded(FULL)
    more = intact | {"borrowed": [{"uid": "x"}]}
    if field:
        more = intact | {field: [*intact[field][:-1], intact[field][-1] | {"borrowed": 1}]}
    assert decoded(intact) == of_text(json.dumps(intact)) == FULL
    with pytest.raises(PageError, match=r"unknown field `borrowed`.*upgrade this one"):
        decoded(more)
    with pytest.raises(PageError, match=r"unknown field `borrowed`.*upgrade this one"):
        of_text(json.dumps(more))


def test_nothing_that_is_kept_is_read_without_its_fields_being_checked() -> None:
    kinds = [kind for kind in vars(spec).values() if isinstance(kind, type)]
    kept = [kind for kind in kinds if issubclass(kind, Struct) and kind is not Struct]
    assert spec.Spec in kept
    assert all(kind.__struct_config__.forbid_unknown_fields for kind in kept)


def test_what_was_not_always_kept_is_left_out_where_it_says_nothing() -> None:
    """A page without it is one that the versions before understand."""
    first = {*LEAST, *LISTS, "virtualTime", "charging", "lastGrant"}
    assert encoded(State(7)).keys() == first


@pytest.mark.parametrize(
    "spec",
    [
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
        {"scale": "0"},
        {"scale": 1},
        {"scale": "1/2"},
        {"virtualTime": "1/0"},
        {"virtualTime": "7/2"},
        {"virtualTime": "nan"},
        {"virtualTime": "-1"},
        {"virtualTime": "0.5"},
        {"virtualTime": "1e3"},
        {"virtualTime": "1e999999999"},
        {"virtualTime": " 1"},
        {"virtualTime": "٣"},
        {"virtualTime": 1},
        {"virtualTime": "9" * 5000},
        {"virtualTime": "2", "tags": [{"tenant": "a", "at": "2"}]},
        {"virtualTime": "2", "standing": [{"tenant": "a", "at": "2"}]},
        {"tags": {"a": "2"}},
        {"tags": [{"tenant": "a"}]},
        {"credits": [{"tenant": "a", "amount": "0"}]},
        {"credits": [{"tenant": "a", "amount": 1}]},
        {"charging": "time"},
        {"charging": None},
        {"charges": [{"tenant": "a"}]},
        {"means": [{"tenant": "a", "mean": 0}]},
        {"means": [{"tenant": "a", "mean": "60000"}]},
        {"means": {"a": 60000}},
        {"starts": [{"tenant": "a", "lane": "", "at": ["1"]}]},
        {"starts": [{"tenant": "a", "lane": "", "at": [1.5]}]},
        {"startsSince": [{"limit": "a", "at": -1}]},
        {"lastGrant": "1"},
        {"intents": [{}]},
        {"reservations": [{}]},
    ],
)
def test_data_that_is_no_state_is_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="ledger"):
        decoded(LEAST | spec)


@pytest.mark.parametrize("missing", LEAST)
def test_what_a_ledger_must_have_has_no_default(missing: str) -> None:
    spec = {field: value for field, value in LEAST.items() if field != missing}
    with pytest.raises(ValueError, match=missing):
        decoded(spec)


@pytest.mark.parametrize(
    "broken",
    [
        {"token": "x"},
        {"token": "0"},
        {"token": 7},
        {"charge": "-1"},
        {"charge": "1/1"},
        {"charge": 1},
        {"width": -1},
        {"width": "1"},
        {"uid": None},
    ],
)
def test_an_intent_that_is_none_is_refused(broken: dict[str, Any]) -> None:
    intact = encoded(FULL)["intents"][0]
    assert len(decoded(LEAST | {"intents": [intact]}).intents) == 1
    with pytest.raises(ValueError, match="ledger"):
        decoded(LEAST | {"intents": [intact | broken]})


@pytest.mark.parametrize(
    "broken",
    [
        {"charge": 1},
        {"charge": "1.5"},
        {"charge": "9" * 65},
        {"width": None},
        {"at": -1},
        {"kept": "1"},
        {"kept": None},
        {"uid": None},
    ],
)
def test_a_reservation_that_is_none_is_refused(broken: dict[str, Any]) -> None:
    intact = encoded(FULL)["reservations"][0]
    assert decoded(LEAST | {"reservations": [intact]}).reservations == FULL.reservations[:1]
    with pytest.raises(ValueError, match="ledger"):
        decoded(LEAST | {"reservations": [intact | broken]})


def test_two_reservations_of_one_tenant_are_refused() -> None:
    intact = encoded(FULL)["reservations"][0]
    with pytest.raises(ValueError, match="ledger: state: a tenant has one reservation"):
        decoded(LEAST | {"reservations": [intact, intact | {"uid": "w-3"}]})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "7 1 1000",
        "7 1 1000 60000 1",
        "0 1 1000 60000",
        "07 1 1000 60000",
        "7 -1 1000 60000",
        "7 1 1000.5 60000",
        "7 1 1000 6e4",
        "7  1 1000 60000",
        " 7 1 1000 60000",
        "7 1 1000 60000\n",
        "7 1 1000 ٣",
        "7,1,1000,60000",
        "7 1 1000 " + "9" * 5000,
    ],
)
def test_an_open_charge_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="ledger"):
        decoded(LEAST | {"charges": [{"tenant": "a", "open": [text]}]})


def test_a_ledger_that_counts_in_fractions_is_refused_and_not_taken_for_another() -> None:
    """As written before turns were counted in whole numbers: 3 would be almost nothing now."""
    with pytest.raises(ValueError, match="scale"):
        decoded({"version": "7", "virtualTime": "3", "tags": [{"tenant": "a", "at": "4"}]})
