"""Access: where the API server is and who we are, from a kubeconfig or from inside the cluster."""

import ssl
from collections.abc import Mapping
from pathlib import Path

from kubernetes_asyncio import client, config
from kubernetes_asyncio.config.config_exception import ConfigException

from kwicket.ports.errors import UnavailableError

_OF_OTHER_FILES = (TypeError, AttributeError, LookupError, UnicodeDecodeError)
"""What the loader raises over a file of another shape than a kubeconfig's."""


_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


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

    async def headers(self) -> Mapping[str, str]:
        """The headers that say who we are, fresh. Raises UnavailableError."""
        try:
            authorization = await self._configuration.get_api_key_with_prefix("BearerToken")
        except (ConfigException, OSError) as error:
            raise UnavailableError(f"no credentials: {error}") from error
        return {"Authorization": authorization.strip()} if authorization else {}


async def load_access(kubeconfig: Path | None, context: str | None = None) -> Access:
    """From this kubeconfig, or from the pod's service account if it is None.

    Raises AccessError, with a sentence that says what is missing.
    """
    configuration = client.Configuration()
    try:
        if kubeconfig is None:
            config.load_incluster_config(configuration)  # type: ignore[no-untyped-call]  # untyped there
        else:
            await config.load_kube_config(
                config_file=str(kubeconfig), context=context, client_configuration=configuration
            )
        return Access(configuration)
    except Exception as error:  # the loaders raise whatever they stumble over
        source = f"kubeconfig {kubeconfig}" if kubeconfig else "the pod's service account"
        hint = "" if kubeconfig else "; outside of a cluster, pass --kubeconfig FILE"
        shapeless = kubeconfig is not None and isinstance(error, _OF_OTHER_FILES)
        why = "the file is no valid kubeconfig" if shapeless else error
        raise AccessError(f"no access by {source}: {why}{hint}") from error


def pod_namespace() -> str | None:
    """The namespace of the pod that we run in; None outside of a cluster."""
    try:
        return _NAMESPACE_FILE.read_text().strip() or None
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
    return context
