"""`tls-server-name` of a kubeconfig: the certificate's name, where the address is another one."""

import base64
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kwicket.app import api_session
from kwicket.kube.access import Access, load_access
from kwicket.kube.certificates import issue
from kwicket.kube.client import Client
from kwicket.kube.watching import Watching
from kwicket.ports.errors import UnavailableError
from kwicket.ports.objects import Found
from support.api_server import POOLS, ApiServer
from support.hints import Hints

CERTIFICATE = issue(["kubernetes.example"], datetime.now(UTC))
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: "SERVER", certificate-authority-data: DATA MORE}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: here, context: {cluster: c, user: u}}]
"""


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[ApiServer]:
    """It listens at an address that is not on its certificate."""
    chain, key = tmp_path / "chain", tmp_path / "key"
    chain.write_bytes(CERTIFICATE.chain)
    key.write_bytes(CERTIFICATE.key)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(chain, key)
    async with ApiServer(tls) as made:
        made.put(POOLS, {"metadata": {"name": "gpu"}, "spec": {}})
        yield made


async def access(api: ApiServer, folder: Path, name: str) -> Access:
    file = folder / "kubeconfig"
    data = base64.b64encode(CERTIFICATE.authorities).decode()
    more = f", tls-server-name: {name}" if name else ""
    text = KUBECONFIG.replace("SERVER", api.url).replace("DATA", data).replace(" MORE", more)
    file.write_text(text)
    return await load_access(file)


async def test_the_certificate_must_have_the_name_that_is_said(
    api: ApiServer, tmp_path: Path
) -> None:
    found = await access(api, tmp_path, "kubernetes.example")
    async with api_session(found) as session:
        assert isinstance(await Client(found, session).get(f"{POOLS}/gpu"), Found)


@pytest.mark.parametrize("name", ["", "another.example"])
async def test_a_certificate_without_it_is_refused(
    api: ApiServer, tmp_path: Path, name: str
) -> None:
    found = await access(api, tmp_path, name)
    async with api_session(found) as session:
        with pytest.raises(UnavailableError, match="certificate verify failed"):
            await Client(found, session).get(f"{POOLS}/gpu")


async def test_kopf_expects_it_as_well(api: ApiServer, tmp_path: Path) -> None:
    hints = Hints()
    found = await access(api, tmp_path, "kubernetes.example")
    async with hints.following(Watching(found, hints.seen, hints.gone, hints.served)):
        await hints.until(lambda: hints.told == [("seen", "Pool", "gpu")])
