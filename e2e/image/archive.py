"""An image as one file that container runtimes import, in the OCI image layout.

The same content makes the same bytes: entries are sorted, and bear no time and no owner but root.
https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_INDEX = "application/vnd.oci.image.index.v1+json"
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


type Entries = Mapping[str, Path]
"""What a layer holds: absolute paths, each with the file to copy."""


def write(target: Path, name: str, layers: Sequence[Entries], config: dict[str, Any]) -> None:
    """Write the image `name`, as a pod would say it, of `layers`, the lowest first, to `target`.

    `config` is the image configuration's `config`: User, Env, Entrypoint and the like.
    """
    fresh = target.with_suffix(".new")
    with tarfile.open(fresh, "w", format=tarfile.PAX_FORMAT) as archive:
        tars = [_layer(entries) for entries in layers]
        blobs = [_add_blob(archive, _LAYER, content) for content in tars]
        machine = platform.machine()
        image = {
            "architecture": _ARCHITECTURES.get(machine, machine),
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": [blob["digest"] for blob in blobs]},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _add_blob(archive, _CONFIG, _json(image)),
            "layers": blobs,
        }
        entry = _add_blob(archive, _MANIFEST, _json(manifest))
        full = _with_registry(name)
        named = {"io.containerd.image.name": full, "org.opencontainers.image.ref.name": full}
        entries = [entry | {"annotations": named}]
        index = {"schemaVersion": 2, "mediaType": _INDEX, "manifests": entries}
        _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(archive, "index.json", _json(index))
    fresh.replace(target)


def _with_registry(name: str) -> str:
    """A name without a registry is docker.io's, and one without a folder is in its library."""
    first, slash, _ = name.partition("/")
    if not slash:
        return f"docker.io/library/{name}"
    return name if {".", ":"} & set(first) or first == "localhost" else f"docker.io/{name}"


def _layer(entries: Entries) -> bytes:
    buffer = io.BytesIO()
    folders = {str(folder) for path in entries for folder in Path(path).parents} - {"/"}
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as layer:
        for path in sorted(folders | entries.keys()):
            member = tarfile.TarInfo(path.removeprefix("/"))
            if path in entries:
                _add_file(layer, member, entries[path])
            else:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                layer.addfile(member)
    return buffer.getvalue()


def _add_file(layer: tarfile.TarFile, member: tarfile.TarInfo, file: Path) -> None:
    content = file.read_bytes()
    member.mode = 0o755 if file.stat().st_mode & 0o100 else 0o644
    member.size = len(content)
    layer.addfile(member, io.BytesIO(content))


def _add_blob(archive: tarfile.TarFile, kind: str, content: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    _add(archive, f"blobs/sha256/{digest}", content)
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(content)}


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
