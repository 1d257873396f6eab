"""Kwicket's image: a Python, the hashed requirements, and Kwicket itself, each a layer.

What the Dockerfile puts on a base image is put here on what this machine has: the interpreter of
this environment, its standard library, and the shared libraries that all of it loads.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from e2e.image import archive
from e2e.image.archive import Entries

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements" / "runtime.txt"
EXECUTABLE = "/usr/local/bin/python3"
LIBRARY = f"/usr/local/lib/python{sys.version_info.major}.{sys.version_info.minor}"
PACKAGES = "/opt/kwicket"
CONFIG: dict[str, Any] = {
    "User": "65532:65532",
    "Env": ["PATH=/usr/local/bin", f"PYTHONPATH={PACKAGES}", "PYTHONUNBUFFERED=1"],
    "Entrypoint": ["kwicket"],
}
COMMAND = f"""#!{EXECUTABLE}
import sys
from kwicket.cli import main
sys.exit(main())
"""
LEFT_OUT = shutil.ignore_patterns(
    *("__pycache__", "config-*", "site-packages", "dist-packages"),
    *("ensurepip", "idlelib", "turtledemo", "tkinter", "_tkinter*"),
    *("test", "tests", "_test*", "xx*"),
)
_FOUND = re.compile(r"(?:=> |^\s+)(/\S+) \(0x")


class ImageError(Exception):
    """The image could not be made; `str()` says which program failed, and what it said."""


def write(target: Path, name: str) -> None:
    """Write the image `name`, as a pod would say it, to the OCI archive `target`.

    Raises ImageError where pip or ldd fails.
    """
    with tempfile.TemporaryDirectory(prefix="kwicket-image-") as folder:
        stages = [Path(folder, stage) for stage in ("python", "packages", "kwicket")]
        python, packages, own = stages
        _copy_python(python)
        _pip(packages, "--require-hashes", "--only-binary", ":all:", "-r", str(REQUIREMENTS))
        _pip(own, "--no-deps", "--no-build-isolation", str(ROOT))
        _copy_command(own)
        for stage in stages:
            _compile(stage)
        _copy_libraries(stages, python)
        target.parent.mkdir(parents=True, exist_ok=True)
        archive.write(target, name, [_entries(stage) for stage in stages], CONFIG)


def _copy_python(stage: Path) -> None:
    executable = _within(stage, EXECUTABLE)
    executable.parent.mkdir(parents=True)
    shutil.copy(Path(sys._base_executable).resolve(), executable)  # type: ignore[attr-defined] # no public name for it in an environment
    library = sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix})
    shutil.copytree(library, _within(stage, LIBRARY), ignore=LEFT_OUT)


def _pip(stage: Path, *words: str) -> None:
    pip = [sys.executable, "-I", "-m", "pip", "install", "--quiet", "--no-input"]
    target = ["--disable-pip-version-check", "--no-compile", "--target"]
    _run(*pip, *target, str(_within(stage, PACKAGES)), *words)
    shutil.rmtree(_within(stage, PACKAGES) / "bin", ignore_errors=True)


def _copy_command(stage: Path) -> None:
    command = _within(stage, EXECUTABLE).with_name("kwicket")
    command.parent.mkdir(parents=True)
    command.write_text(COMMAND)
    command.chmod(0o755)


def _compile(stage: Path) -> None:
    """For good, since files of an image bear no time that could tell a compiled one's age."""
    how = ("-q", "-j0", "--invalidation-mode=unchecked-hash", "-s", str(stage), "-p", "/")
    _run(sys.executable, "-I", "-m", "compileall", *how, str(stage))


def _copy_libraries(stages: list[Path], target: Path) -> None:
    """Put each shared library where ldd finds it here: the loader looks there in the image too."""
    loaded = [str(file) for stage in stages for file in stage.rglob("*.so*")]
    told = _run("ldd", str(_within(target, EXECUTABLE)), *sorted(loaded))
    own = tuple(f"{stage}/" for stage in stages)
    for line in told.splitlines():
        found = _FOUND.search(line)
        if found and not found[1].startswith(own):
            library = _within(target, found[1])
            library.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found[1], library)


def _entries(stage: Path) -> Entries:
    files = (file for file in stage.rglob("*") if file.is_file())
    return {f"/{file.relative_to(stage)}": file for file in files}


def _within(stage: Path, place: str) -> Path:
    return stage / place.lstrip("/")


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        program = " ".join(words[:4])
        raise ImageError(f"{program} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
