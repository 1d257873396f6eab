"""Settings: wrong ones are refused with a sentence before anything begins."""

import pytest

from kwicket.settings import Settings


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
