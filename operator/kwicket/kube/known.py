"""What a reflector knows: the values of one kind as last seen, and which of them need not be read
again.
"""

from collections.abc import Callable, Set

import msgspec

from kwicket.kube import wire


class Known[Value]:
    """By `key`; `version` gives a value's resourceVersion, where it has one and its key is its UID.

    Without it everything is read again.
    """

    def __init__(self, key: Callable[[Value], str], version: Callable[[Value], str] | None) -> None:
        self._key = key
        self._version = version
        self._values: dict[str, Value] = {}
        self._outlived: set[str] = set()

    def keys(self) -> Set[str]:
        """What is known."""
        return self._values.keys()

    def keep(self, value: Value) -> str:
        """Takes a value; its key."""
        key = self._key(value)
        self._values[key] = value
        self._outlived.discard(key)
        return key

    def drop(self, key: str) -> Value | None:
        """Forgets a value; None if it was not known."""
        self._outlived.discard(key)
        return self._values.pop(key, None)

    def outlive(self) -> None:
        """The cluster went back: another object may be at a version that is known."""
        self._outlived = set(self._values)

    def unchanged(self, raw: msgspec.Raw) -> Value | None:
        """The value of an object as it was written, if it is known at that version."""
        if self._version is None or not self._values:
            return None
        try:
            head = msgspec.json.decode(raw, type=wire.Head).metadata
        except (ValueError, RecursionError):
            return None
        known = None if head.uid in self._outlived else self._values.get(head.uid)
        if known is None or self._version(known) != head.resource_version:
            return None
        return known
