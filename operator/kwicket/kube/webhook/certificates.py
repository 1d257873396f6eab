"""The server's certificate: one TLS context for ever, whose certificate is exchanged in place.

A new pair is taken once both files are there and belong together; until then, and for connections
that are open, the pair before it serves on.
"""

import asyncio
import ssl
from datetime import datetime
from pathlib import Path

import structlog

from kwicket.kube.certificates import expiry

EVERY = 5.0
"""Seconds between two looks at the files."""

_log = structlog.get_logger(__name__)


class CertificateError(Exception):
    """There is no certificate to serve with; the message says which files, and what is wrong."""


class Certificates:
    """Raises CertificateError if there is no pair to begin with."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._files = certificate, key
        try:
            self._loaded = self._content()
            self._current = self._load()
            self.context = self._load()
            """For the server; each handshake takes the newest pair."""
        except OSError as error:
            raise CertificateError(f"no certificate by {certificate} and {key}: {error}") from error
        self.context.sni_callback = self._choose

    @property
    def expires(self) -> datetime | None:
        """When the certificate ends that is served now; None if that can't be read."""
        return expiry(self._loaded[0])

    async def run(self) -> None:
        """Looks at the files every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            self.reload()

    def reload(self) -> None:
        """Takes the files' pair if it is another one and whole."""
        try:
            content = self._content()
            if content == self._loaded:
                return
            self._current = self._load()
        except OSError as error:
            _log.warning("certificate not taken", file=str(self._files[0]), error=str(error))
            return
        self._loaded = content
        _log.info("certificate taken", file=str(self._files[0]))

    def _choose(self, connection: ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        """Called in every handshake, whether the client says a name or not."""
        connection.context = self._current

    def _content(self) -> tuple[bytes, ...]:
        return tuple(file.read_bytes() for file in self._files)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(*self._files)
        return context
