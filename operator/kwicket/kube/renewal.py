"""Renewal: the webhook's certificate in its Secret, its authorities in the webhook configurations.

The configurations come first and trust the old certificate too, so that no replica ever serves one
that the API server does not trust. Whatever is right already is not written.
"""

import base64
import binascii
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import structlog
from msgspec import Struct

from kwicket.kube.certificates import Certificate, issue, why_renew
from kwicket.kube.client import Client
from kwicket.ports.objects import Changed, Found, Missing, Refused

_log = structlog.get_logger(__name__)

KINDS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"


class RenewalError(Exception):
    """It can't be done as things are; the message says what is missing, and the way out."""


class Place(Struct, frozen=True):
    """Where everything is."""

    namespace: str
    service: str
    """Whose name the certificate is for."""
    secret: str
    configuration: str
    """The name that the webhook configurations share; one that does not exist is left out."""

    @property
    def names(self) -> list[str]:
        """The DNS names by which the API server calls the service."""
        return [f"{self.service}.{self.namespace}.svc"]

    @property
    def path(self) -> str:
        """The Secret's."""
        return f"/api/v1/namespaces/{self.namespace}/secrets/{self.secret}"


class Renewal:
    """Makes the certificate valid for long, and known to the API server."""

    def __init__(self, client: Client, place: Place) -> None:
        self._client = client
        self._place = place

    async def run(self, now: datetime) -> None:
        """Raises RenewalError, and UnavailableError where it is to be tried again."""
        while not await self._once(now):
            _log.info("somebody else wrote the Secret, reading it again")

    async def _once(self, now: datetime) -> bool:
        """False if the Secret changed between being read and being written."""
        secret = await self._secret()
        certificate = _certificate(secret)
        reason = why_renew(certificate, self._place.names, now)
        if reason is not None:
            certificate = issue(self._place.names, now, certificate.authorities)
        for kind in KINDS:
            await self._trust(f"{_CONFIGURATIONS}/{kind}/{self._place.configuration}", certificate)
        if reason is None:
            _log.info("the certificate is good")
            return True
        return await self._keep(certificate, secret, reason)

    async def _secret(self) -> dict[str, Any]:
        match await self._client.get(self._place.path):
            case Found(body):
                return body
            case Missing():
                where = f"{self._place.namespace}/{self._place.secret}"
                raise RenewalError(f"there is no Secret {where}: the chart installs it, empty")

    async def _keep(self, certificate: Certificate, secret: dict[str, Any], reason: str) -> bool:
        data = {
            "ca.crt": certificate.authorities,
            "tls.crt": certificate.chain,
            "tls.key": certificate.key,
        }
        body = {
            "metadata": {"resourceVersion": secret["metadata"]["resourceVersion"]},
            "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
        }
        match await self._client.merge_patch(self._place.path, body):
            case Found():
                _log.info("the certificate is new", reason=reason)
                return True
            case Refused(message):
                raise RenewalError(f"Secret {self._place.secret}: {message}")
            case Changed() | Missing():
                return False

    async def _trust(self, path: str, certificate: Certificate) -> None:
        wanted = base64.b64encode(certificate.authorities).decode()
        while True:
            found = await self._client.get(path)
            if isinstance(found, Missing) or not (body := _trusting(found.body, wanted)):
                return
            match await self._client.merge_patch(path, body):
                case Found():
                    _log.info("the API server trusts the authorities", path=path)
                    return
                case Refused(message):
                    raise RenewalError(f"{path}: {message}")
                case Changed() | Missing():
                    continue


def _certificate(secret: dict[str, Any]) -> Certificate:
    data = secret.get("data") or {}
    authorities, chain, key = (_decoded(data.get(k)) for k in ("ca.crt", "tls.crt", "tls.key"))
    return Certificate(authorities, chain, key)


def _decoded(value: str | None) -> bytes:
    try:
        return base64.b64decode(value or "")
    except (binascii.Error, ValueError):
        return b""


def _trusting(configuration: dict[str, Any], bundle: str) -> dict[str, Any] | None:
    """The patch by which all its webhooks trust `bundle`; None if they do."""
    webhooks = configuration.get("webhooks") or []
    if all(each["clientConfig"].get("caBundle") == bundle for each in webhooks):
        return None
    return {
        "metadata": {"resourceVersion": configuration["metadata"]["resourceVersion"]},
        "webhooks": list(_with_bundle(webhooks, bundle)),
    }


def _with_bundle(webhooks: list[dict[str, Any]], bundle: str) -> Iterator[dict[str, Any]]:
    for each in webhooks:
        yield {**each, "clientConfig": {**each["clientConfig"], "caBundle": bundle}}
