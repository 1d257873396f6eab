"""Which Python the set-up takes. Nothing here makes a virtual environment."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "setup.sh"
TOOLS = ("sh", "dirname", "basename", "sort", "tr")
REAL = Path(sys.executable).resolve()

NEW = "sys.version_info = (3, 13, 7)"
NEWER = "sys.version_info = (3, 14, 0)"
OLD = "sys.version_info = (3, 11, 9)"
PYPY = "sys.implementation.name = 'pypy'"
WITHOUT_VENV = "sys.modules['ensurepip'] = None"


class Machine:
    """A PATH with the tools that the script uses and no Python but those added, and a pyenv."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "a path"
        self.home = folder / "home"
        self.path.mkdir()
        self.environment = {"PATH": str(self.path), "HOME": str(self.home)}
        for tool in TOOLS:
            (self.path / tool).symlink_to(str(shutil.which(tool)))

    def on_path(self, name: str, pretend: str) -> Path:
        """A Python on PATH that pretends to be another."""
        return pretender(self.path / name, pretend)

    def in_pyenv(self, version: str, pretend: str) -> Path:
        """The same under pyenv's versions."""
        return pretender(self.home / ".pyenv" / "versions" / version / "bin" / "python3", pretend)

    def shim(self, name: str) -> Path:
        """A pyenv shim for a version that is not chosen."""
        lines = (f'echo "pyenv: {name}: command not found" >&2', "exit 127")
        return program(self.path / name, lines)

    def find(self) -> subprocess.CompletedProcess[str]:
        """What the script answers."""
        shell = str(self.path / "sh")
        return subprocess.run(  # noqa: S603 - the script under test
            [shell, str(SCRIPT), "--find"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def found(self) -> Path:
        """The Python that it would use."""
        answer = self.find()
        assert answer.returncode == 0, answer.stderr
        return Path(answer.stdout.rstrip("\n"))


def program(path: Path, lines: tuple[str, ...]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)
    return path


def pretender(path: Path, pretend: str) -> Path:
    """This Python, asked the script's own question after a change to what it says of itself."""
    setting = f"import sys; {pretend}; sys._base_executable = '{path}'; exec(sys.argv[-1])"
    return program(path, (f'exec "{REAL}" -I -c "{setting}" "$@"',))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_shim_without_a_python_is_passed_over(machine: Machine) -> None:
    machine.shim("python3.13")
    machine.shim("python3")
    expected = machine.in_pyenv("3.13.7", NEW)
    assert machine.found() == expected


def test_a_real_python_on_path_is_taken_before_pyenvs(machine: Machine) -> None:
    machine.shim("python3.13")
    machine.in_pyenv("3.14.0", NEWER)
    expected = machine.on_path("python3", NEW)
    assert machine.found() == expected


def test_a_later_folder_on_path_is_asked_too(machine: Machine, tmp_path: Path) -> None:
    machine.shim("python3.13")
    expected = pretender(tmp_path / "later" / "python3.13", NEW)
    machine.environment["PATH"] += f":{expected.parent}"
    assert machine.found() == expected


def test_the_newest_under_pyenv_is_taken(machine: Machine) -> None:
    machine.in_pyenv("3.9.18", "sys.version_info = (3, 9, 18)")
    machine.in_pyenv("3.12.11", NEW)
    machine.in_pyenv("3.12.9", NEW)
    machine.in_pyenv("pypy3.11-7.3", PYPY)
    assert machine.found().parts[-3] == "3.12.11"


def test_pyenv_may_be_elsewhere(machine: Machine, tmp_path: Path) -> None:
    machine.in_pyenv("3.13.7", NEW)
    elsewhere = tmp_path / "elsewhere"
    expected = pretender(elsewhere / "versions" / "3.13.7" / "bin" / "python3", NEW)
    machine.environment["PYENV_ROOT"] = str(elsewhere)
    assert machine.found() == expected


def test_a_named_python_comes_first(machine: Machine, tmp_path: Path) -> None:
    machine.on_path("python3.14", NEWER)
    expected = pretender(tmp_path / "mine", NEW)
    machine.environment["PYTHON"] = str(expected)
    assert machine.found() == expected


def test_a_named_python_that_does_not_fit_is_said(machine: Machine, tmp_path: Path) -> None:
    machine.on_path("python3", NEW)
    machine.environment["PYTHON"] = str(pretender(tmp_path / "mine", OLD))
    assert f"passing over PYTHON={tmp_path / 'mine'}" in machine.find().stderr


@pytest.mark.parametrize("pretend", [OLD, PYPY, WITHOUT_VENV])
def test_what_does_not_fit_is_passed_over(machine: Machine, pretend: str) -> None:
    machine.on_path("python3", pretend)
    expected = machine.on_path("python", NEW)
    assert machine.found() == expected


def test_without_a_python_it_names_the_way_out(machine: Machine) -> None:
    machine.shim("python3.13")
    machine.on_path("python3", OLD)
    machine.in_pyenv("3.11.9", OLD)
    answer = machine.find()
    assert answer.returncode == 2
    assert answer.stdout == ""
    [sentence] = answer.stderr.splitlines()
    assert "CPython 3.12 or newer" in sentence
    assert "PYTHON=/path/to/python3" in sentence


def test_without_pyenv_and_home_it_says_the_same(machine: Machine) -> None:
    del machine.environment["HOME"]
    assert machine.find().returncode == 2
