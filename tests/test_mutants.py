"""The mutants still apply: each has one place in the code, and is Python that means another thing.

`make mutants` tells which test kills which.
"""

import ast
from pathlib import Path

import pytest

from mutants.mutant import Kind, Mutant, NotFoundError
from mutants.population import POPULATION
from mutants.safeguards import JUDGED_BY_TESTS, SAFEGUARDS
from mutants.shared import SHARED

ROOT = Path(__file__).parents[1]

ALL = (*POPULATION, *SAFEGUARDS, *SHARED)
mutants = pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)


def test_there_are_14_mutants_at_least_with_names_of_their_own() -> None:
    assert len(POPULATION) >= 14
    assert len({mutant.name for mutant in ALL}) == len(ALL)


def test_there_are_12_safeguards_that_are_left_out() -> None:
    assert len(SAFEGUARDS) == 12
    assert set(JUDGED_BY_TESTS) <= {mutant.name for mutant in SAFEGUARDS}


@mutants
def test_a_mutant_has_one_place_in_the_code(mutant: Mutant) -> None:
    assert mutant.number(ROOT) > 0


@mutants
def test_a_mutant_is_python_that_does_something_else(mutant: Mutant) -> None:
    """Neither a comment nor an error of syntax would prove anything of the tests."""
    before = ast.dump(ast.parse((ROOT / mutant.path).read_text()))
    assert ast.dump(ast.parse(mutant.mutated(ROOT))) != before


def test_there_are_mutants_of_every_kind() -> None:
    assert {mutant.kind for mutant in ALL} == set(Kind)


def tree(root: Path, text: str) -> Mutant:
    """A tree whose one file has this text, and a mutant of `v = 2` in a function of it."""
    mutant = Mutant("falls", "it falls", Kind.TURNS, "turns.Turns.move", "v = 2", "v = 1")
    (root / mutant.path).parent.mkdir(parents=True)
    (root / mutant.path).write_text(text)
    return mutant


IN_PLACE = """
def move():
    v = 2


class Turns:
    def move(self):
        u = 2
        v = 2
"""


def test_a_mutant_changes_its_line_alone(tmp_path: Path) -> None:
    mutant = tree(tmp_path, IN_PLACE)
    assert mutant.number(tmp_path) == 9
    before, after = IN_PLACE.splitlines(), mutant.mutated(tmp_path).splitlines()
    assert [line for line in after if line not in before] == ["        v = 1"]
    assert after[:8] == before[:8]


@pytest.mark.parametrize(
    "text", [IN_PLACE.replace("move", "stop"), IN_PLACE + "        v = 2\n", "v = 2\n", ""]
)
def test_a_mutant_without_exactly_one_place_is_refused(tmp_path: Path, text: str) -> None:
    mutant = tree(tmp_path, text)
    with pytest.raises(
        NotFoundError, match=r"mutant falls: turns\.Turns\.move has 'v = 2' [02] times"
    ):
        mutant.mutated(tmp_path)


def test_a_mutant_of_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="0 times"):
        POPULATION[0].number(tmp_path)
