"""resourceVersions as numbers, which those of one kind are since Kubernetes 1.35. Pure.

Two may be compared if they are of one kind and one life of the cluster: a restore from a backup
begins another.
"""

import msgspec
from msgspec import Struct


class _Metadata(Struct, rename="camel"):
    resource_version: str = ""


class _Versioned(Struct):
    metadata: _Metadata


def of(raw: msgspec.Raw) -> int:
    """The version of an object; 0 if it says none that can be compared."""
    try:
        return number(msgspec.json.decode(raw, type=_Versioned).metadata.resource_version)
    except (ValueError, RecursionError):
        return 0


def number(version: str) -> int:
    """0 for what is no number."""
    return int(version) if version.isascii() and version.isdigit() else 0
