"""Tickets, and traits as their labels say them."""

from typing import Any

import pytest

from kwicket.core.tickets import trait_value
from support.builders import ticket


@pytest.mark.parametrize(
    ("text", "thousandths"),
    [
        ("0", 0),
        ("1", 1000),
        ("0.5", 500),
        ("0.05", 50),
        ("0.50", 500),
        ("0.125", 125),
        ("0.001", 1),
        ("0.0", 0),
        ("0.999", 999),
        ("1.0", 1000),
        ("1.00", 1000),
        ("1.000", 1000),
    ],
)
def test_a_trait_is_read_exactly(text: str, thousandths: int) -> None:
    assert trait_value(text) == thousandths


HOSTILE = (
    "|٣|0.٣|1_0|0.1_0|1e0|1E0|NaN|inf|+1|-0|-1|00|01|00.5|.5|0.|1.|1.0000|0.1234|1.001|1.1|2|0x1"
    "|0,5|½|true|0.5.0| | 1|1 |1\n|0.5\n|\N{FULLWIDTH DIGIT ONE}|\N{MATHEMATICAL BOLD DIGIT ONE}"
)


@pytest.mark.parametrize("text", HOSTILE.split("|"))
def test_anything_else_is_no_trait(text: str) -> None:
    assert trait_value(text) is None


@pytest.mark.parametrize(
    "fields",
    [{"width": -1}, {"deliveries": -1}, {"traits": (("a", 1001),)}, {"traits": (("a", -1),)}],
)
def test_a_senseless_ticket_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="team/x-1"):
        ticket(**fields)


def test_a_job_that_was_granted_before_is_a_redelivery() -> None:
    assert not ticket().redelivery
    assert ticket(deliveries=1).redelivery
