"""Access: where the API server is and who we are, from a kubeconfig or from inside the cluster."""

import contextlib
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from kubernetes_asyncio import client, config
from kubernetes_asyncio.config.config_exception import ConfigException

from kwicket.ports.errors import UnavailableError

_OF_OTHER_FILES = (TypeError, AttributeError, LookupError, UnicodeDecodeError)
"""What the loader raises over a file of another shape than a kubeconfig's."""


SECRETS = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds its token, the authority of the API server, and its namespace."""
FRESH = 10.0
"""Seconds until a token is read anew from its file, where kubelet replaces it."""


class AccessError(Exception):
    """There are no usable credentials; the message says which and where."""


class Access:
    """Address, TLS and credentials of one API server; tokens are re-read as they rotate."""

    def __init__(self, configuration: client.Configuration) -> None:
        self._configuration = configuration
        self.server = str(configuration.host).rstrip("/")
        self.tls = _tls(configuration)
        self.ca_file: str | None = configuration.ssl_ca_cert
        self.certificate_file: str | None = configuration.cert_file
        self.key_file: str | None = configuration.key_file
        self.verifies = bool(configuration.verify_ssl)
        self.server_name: str | None = configuration.tls_server_name
        """The name that the server's certificate must have, if it is not the address."""

    async def headers(self) -> Mapping[str, str]:
        """The headers that say who we are, fresh. Raises UnavailableError."""
        try:
            authorization = await self._configuration.get_api_key_with_prefix("BearerToken")
        except (ConfigException, OSError) as error:
            raise UnavailableError(f"no credentials: {error}") from error
        shown = authorization.strip() if authorization else ""
        if not _fit_for_a_header(shown):
            raise UnavailableError("no credentials: the token has characters that no header has")
        return {"Authorization": shown} if shown else {}


async def load_access(kubeconfig: Path | None, context: str | None = None) -> Access:
    """From this kubeconfig, or from the pod's service account if it is None.

    Raises AccessError, with a sentence that says what is missing.
    """
    configuration = client.Configuration()
    try:
        if kubeconfig is None:
            _load_pod(configuration)
        else:
            loader = await config.load_kube_config(
                config_file=str(kubeconfig), context=context, client_configuration=configuration
            )
            _follow_token(configuration, kubeconfig, loader.current_context or {})
        return Access(configuration)
    except Exception as error:  # the loaders raise whatever they stumble over
        source = f"kubeconfig {kubeconfig}" if kubeconfig else "the pod's service account"
        hint = "" if kubeconfig else "; outside of a cluster, pass --kubeconfig FILE"
        shapeless = kubeconfig is not None and isinstance(error, _OF_OTHER_FILES)
        why = "the file is no valid kubeconfig" if shapeless else error
        raise AccessError(f"no access by {source}: {why}{hint}") from error


def _load_pod(configuration: client.Configuration) -> None:
    """As the loader does, which reads the token anew by the wall clock: one that went back a day
    would have it show an old token for a day.
    """
    config.load_incluster_config(  # type: ignore[no-untyped-call]  # untyped there
        configuration,
        try_refresh_token=False,
        token_filename=str(SECRETS / "token"),
        cert_filename=str(SECRETS / "ca.crt"),
    )
    configuration.refresh_api_key_hook = _Token(SECRETS / "token").refresh


def _follow_token(
    configuration: client.Configuration, kubeconfig: Path, context: Mapping[str, Any]
) -> None:
    """Has a `tokenFile` read anew, which the loader reads once; of a user with another way to
    credentials, which comes first, it reads none.
    """
    name = context.get("context", {}).get("user")
    users = yaml.safe_load(kubeconfig.read_text())["users"] if name else []
    user = next((one["user"] for one in users if one["name"] == name), None) or {}
    if user.get("tokenFile") and not user.keys() & {"exec", "auth-provider"}:
        configuration.refresh_api_key_hook = _Token(kubeconfig.parent / user["tokenFile"]).refresh


class _Token:
    """A token in a file that somebody replaces now and then."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._read_at = time.monotonic()

    def refresh(self, configuration: client.Configuration, *_: object) -> None:
        """Takes over what is in the file; while there is no token in it, the last one stays.

        As while somebody writes it, or has it in two lines.
        """
        if time.monotonic() < self._read_at + FRESH:
            return
        with contextlib.suppress(OSError, ValueError):
            token = self._file.read_text().strip()
            if token and _fit_for_a_header(token) and " " not in token:
                configuration.api_key["BearerToken"] = f"Bearer {token}"
                self._read_at = time.monotonic()


def _fit_for_a_header(text: str) -> bool:
    return text.isascii() and text.isprintable()


def pod_namespace() -> str | None:
    """The namespace of the pod that we run in; None outside of a cluster."""
    try:
        return (SECRETS / "namespace").read_text().strip() or None
    except OSError:
        return None


def _tls(configuration: client.Configuration) -> ssl.SSLContext | None:
    if not str(configuration.host).startswith("https:"):
        return None
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.tls_server_name:
        _expect(context, configuration.tls_server_name)
    return context


def _expect(context: ssl.SSLContext, name: str) -> None:
    """Has every connection ask for this name, and find it on the server's certificate.

    As `tls-server-name` of a kubeconfig demands, whose address is another one. The context does
    it, since kopf asks nobody which name to expect.
    """
    wrap = context.wrap_bio

    def wrap_bio(
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        return wrap(incoming, outgoing, server_side, name, session)

    context.wrap_bio = wrap_bio  # type: ignore[method-assign]
