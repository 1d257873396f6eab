"""The house itself: what a reader relies on and no other check looks at."""

import ast
import operator
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.demo.__main__ import main as demo

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ROOT / "requirements"
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
SETS = ("runtime", "development", "build")

MADE = {"__pycache__", "node_modules", "dist", "build", "bin"}
"""Folders whose content is made from what is committed."""
HOME = re.compile(r"(?<![\w.~$})-])/(?:root|work|home/[\w.-]+|Users/[\w.-]+)/")
OTHER_LOCKS = ("*.lock", "pylock*.toml", "*lock.json")


def committed(folder: Path = ROOT) -> Iterator[Path]:
    """The files of this repository; what is hidden, but for .ci, is not its content."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name == ".ci" or not (path.name.startswith(".") or path.name in MADE):
                yield from committed(path)
        else:
            yield path


def requirements(name: str) -> list[str]:
    """The requirements of a file, each with its options on one line."""
    text = (REQUIREMENTS / f"{name}.txt").read_text()
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def pins(name: str) -> dict[str, str]:
    """The version of each package."""
    return dict(line.split()[0].split("==") for line in requirements(name))


def wanted(name: str) -> set[str]:
    """The packages that are asked for by name."""
    lines = (REQUIREMENTS / f"{name}.in").read_text().lower().splitlines()
    return {line.partition("[")[0] for line in lines if not line.startswith("-")}


def project() -> dict[str, object]:
    loaded: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return loaded


@pytest.mark.parametrize("folder", ["operator", "storage"])
def test_a_source_root_holds_one_package_and_no_module(folder: str) -> None:
    """A file operator/__init__.py would shadow the standard library's operator module."""
    inside = [p for p in (ROOT / folder).iterdir() if p.name not in MADE]
    assert [p.name for p in inside if p.suffix == ".py"] == []
    assert len([p for p in inside if (p / "__init__.py").exists()]) == 1


def test_operator_is_the_standard_librarys() -> None:
    assert ROOT not in Path(str(operator.__file__)).parents
    assert operator.add(1, 2) == 3


@pytest.mark.parametrize("folder", ["operator", "storage"])
def test_files_and_functions_are_short(folder: str) -> None:
    modules = [path for path in committed(ROOT / folder) if path.suffix == ".py"]
    assert modules
    for path in modules:
        text = path.read_text()
        assert len(text.splitlines()) <= 300, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                assert length <= 50, f"{path}: {node.name}"


@pytest.mark.parametrize("name", SETS)
def test_every_requirement_is_pinned_with_hashes(name: str) -> None:
    for line in requirements(name):
        assert re.match(r"[a-z0-9-]+==[\w.]+ .*--hash=sha256:[0-9a-f]{64}", line), line


@pytest.mark.parametrize("name", SETS)
def test_requirement_files_name_no_address(name: str) -> None:
    for suffix in (".in", ".txt"):
        text = (REQUIREMENTS / f"{name}{suffix}").read_text()
        assert not re.search(r"://|\S@\S|index-url|find-links|trusted-host", text)


@pytest.mark.parametrize("name", SETS)
def test_what_is_asked_for_is_pinned(name: str) -> None:
    assert wanted(name) <= pins(name).keys()


def test_development_runs_what_is_shipped() -> None:
    """The same versions; to pin anew, see CONTRIBUTING.md."""
    assert pins("runtime").items() <= pins("development").items()


def test_the_project_depends_on_what_is_pinned_for_it() -> None:
    dependencies = project()["dependencies"]
    assert isinstance(dependencies, list)
    assert {re.split(r"[<>=!~ ]", name)[0] for name in dependencies} == wanted("runtime")


def test_there_is_no_other_kind_of_lock_file() -> None:
    assert [p for p in committed() if any(p.match(pattern) for pattern in OTHER_LOCKS)] == []


def test_no_file_names_a_path_of_one_machine() -> None:
    for path in committed():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        assert HOME.search(text) is None, path


def test_the_demo_has_a_plane_of_its_own_which_is_not_committed() -> None:
    """It stops its plane at its end, so this is never the one of `make plane-up`."""
    [folder] = [option.default for option in demo.params if option.name == "folder"]
    assert f"--dir {folder}\n" not in (ROOT / "Makefile").read_text()
    assert f"/{folder}/" in (ROOT / ".gitignore").read_text().splitlines()


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [path.name.partition("-")[0] for path in DECISIONS]
    assert numbers == [f"{n:04}" for n in range(1, len(numbers) + 1)]
    assert numbers


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_says_why_what_and_what_follows(path: Path) -> None:
    text = path.read_text()
    assert re.match(rf"# {int(path.name[:4])}\. \S", text)
    assert re.findall(r"^## (.*)$", text, re.M) == ["Context", "Decision", "Consequences"]


def test_the_changelog_knows_the_present_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    titles = re.findall(r"^## \[?([^\]\s]+)", text, re.M)
    assert {"Unreleased", project()["version"]} & set(titles)
