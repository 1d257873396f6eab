"""Which writes of Jobs the API server has reviewed, and that it trusts the certificates of
`kwicket certificates`, also while they change: by a webhook of the test's own, that says yes.
"""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from e2e import load, release
from e2e.plane.api import Api, Object
from e2e.release import RELEASE, Kubeconfig
from e2e.tools import Tool
from kwicket.kube.certificates import Certificate, issue

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
HOST = "localhost"


@pytest.fixture(scope="module", autouse=True)
def installed(helm: Tool, kubeconfig: Kubeconfig, own_planes: None) -> Iterator[None]:
    """The policies and the operator's account; a cluster elsewhere can't call this machine."""
    with release.installed(helm, kubeconfig):
        yield


class Reviewer:
    """A webhook that allows everything, and remembers of what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[tuple[str, str]] = []
        """The operation and the Job's name."""
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.port = 0
        self._folder = folder

    def serve_as(self, certificate: Certificate) -> None:
        """Show this certificate to whoever connects from now on."""
        chain, key = self._folder / "tls.crt", self._folder / "tls.key"
        chain.write_bytes(certificate.chain)
        key.write_bytes(certificate.key)
        self.tls.load_cert_chain(chain, key)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        app = web.Application()
        app.router.add_post("/mutate-jobs", self._review)
        runner = web.AppRunner(app, access_log=None, keepalive_timeout=0)
        await runner.setup()
        await web.TCPSite(runner, HOST, 0, ssl_context=self.tls).start()
        self.port = runner.addresses[0][1]
        yield
        await runner.cleanup()

    async def _review(self, request: web.Request) -> web.Response:
        review = await request.json()
        asked = review["request"]
        self.asked.append((asked["operation"], asked["name"]))
        review["response"] = {"uid": asked["uid"], "allowed": True}
        return web.json_response(review)


def hook_of_the_chart(helm: Tool, port: int, certificate: Certificate) -> Object:
    """The chart's configuration for Jobs, but that it calls this machine, and must not fail."""
    text = helm("template", *RELEASE, "--set", "mutation=Webhook").stdout
    documents = yaml.safe_load_all(text)
    [made] = (d for d in documents if d and d["kind"] == "MutatingWebhookConfiguration")
    [hook] = made["webhooks"]
    bundle = base64.b64encode(certificate.authorities).decode()
    hook |= {"failurePolicy": "Fail", "timeoutSeconds": 10}
    hook["clientConfig"] = {"url": f"https://{HOST}:{port}/mutate-jobs", "caBundle": bundle}
    return {"metadata": {"name": "kwicket-reviews"}, "webhooks": [hook]}


@pytest.fixture
async def reviewer(helm: Tool, api: Api, namespace: str, tmp_path: Path) -> AsyncIterator[Reviewer]:
    """A reviewer that the API server asks, with the first certificate."""
    reviewer, certificate = Reviewer(tmp_path), issue([HOST], datetime.now(UTC))
    reviewer.serve_as(certificate)
    async with reviewer.listening():
        made = await api.create(CONFIGURATIONS, hook_of_the_chart(helm, reviewer.port, certificate))
        path = f"{CONFIGURATIONS}/{made['metadata']['name']}"
        try:
            await until_asked(api, namespace, reviewer)
            yield reviewer
        finally:
            await api.delete(path)


async def until_asked(api: Api, namespace: str, reviewer: Reviewer) -> None:
    """A new configuration is heeded a moment later."""
    probe = load.labelled_job("probe", "alice", ["true"])
    async with asyncio.timeout(20):
        while not reviewer.asked:
            await api.create(load.jobs_path(namespace), probe, dryRun="All")
    reviewer.asked.clear()


async def test_what_tenants_write_is_reviewed_and_nothing_else(
    reviewer: Reviewer, api: Api, namespace: str, kubeconfig: Kubeconfig
) -> None:
    jobs = load.jobs_path(namespace)
    unlabelled = load.labelled_job("unlabelled", "alice", ["true"])
    del unlabelled["metadata"]["labels"]
    await api.create(jobs, unlabelled)
    assert reviewer.asked == []
    await api.create(jobs, load.labelled_job("job", "alice", ["true"]))
    assert reviewer.asked == [("CREATE", "job")]
    async with Api.open(kubeconfig("kwicket-system/kwicket")) as operator:
        mark = {"annotations": {"kwicket.dev/deliveries": "1"}}
        await operator.patch(f"{jobs}/job", {"metadata": mark})
    for finalizers in (["example.com/kept"], []):
        await api.patch(f"{jobs}/job", {"metadata": {"finalizers": finalizers}})
    assert reviewer.asked == [("CREATE", "job")]
    await api.patch(f"{jobs}/job", {"metadata": {"labels": {"kwicket.dev/hold": "true"}}})
    # The API server reviews a patch again that has met another write, such as the Job controller's.
    assert set(reviewer.asked[1:]) == {("UPDATE", "job")}


async def test_while_the_certificate_changes_every_review_is_answered(
    reviewer: Reviewer, api: Api, namespace: str, helm: Tool
) -> None:
    """The API server trusts the new authority before a replica serves the new certificate."""
    path = f"{CONFIGURATIONS}/kwicket-reviews"
    jobs, probe = load.jobs_path(namespace), load.labelled_job("probe", "alice", ["true"])

    async def five_reviews() -> None:
        for _ in range(5):
            await api.create(jobs, probe, dryRun="All")

    [hook] = (await api.get(path))["webhooks"]
    trusted = base64.b64decode(hook["clientConfig"]["caBundle"])
    new = issue([HOST], datetime.now(UTC), trusted)
    await api.patch(path, {"webhooks": hook_of_the_chart(helm, reviewer.port, new)["webhooks"]})
    await five_reviews()
    reviewer.serve_as(new)
    await five_reviews()
    assert reviewer.asked == [("CREATE", "probe")] * 10
