"""The archive of an image: what container runtimes find in it, and always the same bytes."""

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from e2e.image import archive


def written(folder: Path, name: str = "kwicket:1", old: bool = False) -> Path:
    """An image of two layers; of files from 1970 if `old`."""
    program = folder / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (folder / "data").write_text("1")
    if old:
        os.utime(program, (1, 1))
    layers = [{"/usr/bin/program": program}, {"/opt/data": folder / "data"}]
    archive.write(folder / "image.tar", name, layers, {"User": "65532:65532"})
    return folder / "image.tar"


def blob(image: Path, entry: dict[str, Any]) -> bytes:
    with tarfile.open(image) as tar:
        file = tar.extractfile(f"blobs/{entry['digest'].replace(':', '/')}")
        assert file is not None
        return file.read()


def manifest(image: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The index's only entry, and the manifest that it leads to."""
    with tarfile.open(image) as tar:
        file = tar.extractfile("index.json")
        assert file is not None
        [entry] = json.load(file)["manifests"]
    return entry, json.loads(blob(image, entry))


def test_the_same_content_makes_the_same_bytes(tmp_path: Path) -> None:
    """Whenever it was written."""
    first = written(tmp_path).read_bytes()
    again = tmp_path / "again"
    again.mkdir()
    assert written(again, old=True).read_bytes() == first


def test_every_blob_has_the_size_and_digest_that_lead_to_it(tmp_path: Path) -> None:
    """And the configuration names the layers by theirs, lowest first."""
    image = written(tmp_path)
    _, made = manifest(image)
    config = json.loads(blob(image, made["config"]))
    assert config["config"] == {"User": "65532:65532"}
    assert config["rootfs"]["diff_ids"] == [layer["digest"] for layer in made["layers"]]
    assert [len(blob(image, layer)) for layer in made["layers"]] == [
        layer["size"] for layer in made["layers"]
    ]


def test_files_belong_to_root_and_all_may_read_them(tmp_path: Path) -> None:
    """Folders above them too; what may be run here may be run there."""
    image = written(tmp_path)
    _, made = manifest(image)
    (tmp_path / "layer.tar").write_bytes(blob(image, made["layers"][0]))
    with tarfile.open(tmp_path / "layer.tar") as layer:
        found = {member.name: (member.mode, member.uid, member.mtime) for member in layer}
    assert found == dict.fromkeys(("usr", "usr/bin", "usr/bin/program"), (0o755, 0, 0))


@pytest.mark.parametrize(
    ("said", "full"),
    [
        ("kwicket:1", "docker.io/library/kwicket:1"),
        ("team/kwicket:1", "docker.io/team/kwicket:1"),
        ("registry.example/kwicket:1", "registry.example/kwicket:1"),
        ("localhost/kwicket:1", "localhost/kwicket:1"),
        ("localhost:5000/kwicket:1", "localhost:5000/kwicket:1"),
    ],
)
def test_a_name_is_completed_as_container_runtimes_do(tmp_path: Path, said: str, full: str) -> None:
    """A pod that says the short name finds it."""
    entry, _ = manifest(written(tmp_path, said))
    assert entry["annotations"]["io.containerd.image.name"] == full
