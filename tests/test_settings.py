"""Settings: wrong ones are refused with a sentence before anything begins."""

import pytest

from kwicket.settings import Settings, Shared


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0:8080", ":8080", "localhost:1", "[::1]:65535", "127.0.0.1:0"],
)
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    assert Settings(probes=address).probes == address


WRONG = ["", "8080", "host", "host:", "host:http", "host:-1", "host:+1", "host:65536", "host:8 0"]
WRONG += ["host:\u0663", "host:\u00b2", "host:1.5", "host:8080/", "http://host:8080/x"]


@pytest.mark.parametrize("address", WRONG)
def test_anything_else_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(ValueError, match=r"is not HOST:PORT, such as 0\.0\.0\.0:8080"):
        Settings(probes=address)


def test_without_an_address_there_are_no_probes() -> None:
    assert Settings().probes is None


def test_the_history_of_a_shared_ledger_is_of_thirty_days_or_what_is_said() -> None:
    assert Shared("postgresql://db/kwicket", "east").history == 30
    assert Shared("postgresql://db/kwicket", "east", history=400.0).history == 400


@pytest.mark.parametrize("days", [0.0, 0.9, -1.0, 36_501.0, float("inf"), float("nan")])
def test_a_history_of_less_than_a_day_or_more_than_a_century_is_refused(days: float) -> None:
    with pytest.raises(ValueError, match=f"history days: {days} is not from 1 to 36500"):
        Shared("postgresql://db/kwicket", "east", history=days)
