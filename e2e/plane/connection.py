"""How to reach the cluster a kubeconfig names: address, trust and credentials."""

import base64
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from e2e.plane.errors import PlaneError


@dataclass(frozen=True)
class Connection:
    """The server's address, the TLS context to use and the headers that say who asks."""

    server: str
    tls: ssl.SSLContext
    headers: dict[str, str]

    @classmethod
    def read(cls, kubeconfig: Path) -> "Connection":
        """From the current context: tokens, client certificates and impersonation are known.

        Raises PlaneError for credential plugins, which are not.
        """
        cluster, user = current(kubeconfig)
        if "exec" in user or "auth-provider" in user:
            raise PlaneError(
                f"{kubeconfig} asks for a credential plugin: use a token or certificate."
            )
        headers = {}
        if "token" in user:
            headers["Authorization"] = f"Bearer {user['token']}"
        if "as" in user:
            headers["Impersonate-User"] = user["as"]
        return cls(cluster["server"].rstrip("/"), _tls(cluster, user, kubeconfig.parent), headers)


def current(kubeconfig: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The cluster and the user that the current context of `kubeconfig` names."""
    document = yaml.safe_load(kubeconfig.read_text())
    context = _named(document["contexts"], document["current-context"])["context"]
    cluster = _named(document["clusters"], context["cluster"])["cluster"]
    return cluster, _named(document["users"], context["user"])["user"]


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _tls(cluster: dict[str, Any], user: dict[str, Any], base: Path) -> ssl.SSLContext:
    authority = _content(cluster, "certificate-authority", base)
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = (_content(user, f"client-{part}", base) for part in ("certificate", "key"))
    if certificate and key:
        _present(context, certificate, key)
    return context


def _present(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load the pair; the ssl module takes it from a file only, which is gone again at once."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)


def _content(entry: dict[str, Any], name: str, base: Path) -> bytes | None:
    if data := entry.get(f"{name}-data"):
        return base64.b64decode(data)
    return (base / entry[name]).read_bytes() if name in entry else None
