"""Label selectors mean what they mean in Kubernetes."""

import pytest

from kwicket.core.selectors import Expression, Operator, Selector

LABELS = {"team": "red", "empty": ""}


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"),
    [
        ("team", Operator.IN, ("red", "blue"), True),
        ("team", Operator.IN, ("blue",), False),
        ("absent", Operator.IN, ("red",), False),
        ("empty", Operator.IN, ("",), True),
        ("absent", Operator.IN, ("",), False),
        ("team", Operator.NOT_IN, ("red",), False),
        ("team", Operator.NOT_IN, ("blue",), True),
        ("absent", Operator.NOT_IN, ("red",), True),
        ("empty", Operator.EXISTS, (), True),
        ("absent", Operator.EXISTS, (), False),
        ("empty", Operator.DOES_NOT_EXIST, (), False),
        ("absent", Operator.DOES_NOT_EXIST, (), True),
    ],
)
def test_an_expression(
    key: str, operator: Operator, values: tuple[str, ...], expected: bool
) -> None:
    assert Expression(key, operator, values).matches(LABELS) is expected


def test_all_expressions_hold_together() -> None:
    red = Expression("team", Operator.IN, ("red",))
    assert Selector((red, Expression("empty", Operator.EXISTS))).matches(LABELS)
    assert not Selector((red, Expression("absent", Operator.EXISTS))).matches(LABELS)


def test_no_expression_selects_everything() -> None:
    assert Selector().matches({})
