"""The webhook's certificate on a real API server: made and renewed with the rights that the chart
gives for it, and left alone by an upgrade.
"""

import base64
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e import commands, release
from e2e.plane import Plane
from e2e.plane.api import Api, Object
from e2e.release import RELEASE, Kubeconfig
from e2e.tools import Tool

SECRET = "/api/v1/namespaces/kwicket-system/secrets/kwicket-webhook-certificate"  # noqa: S105
GROUP = "/apis/admissionregistration.k8s.io/v1"
VALIDATING = f"{GROUP}/validatingwebhookconfigurations/kwicket"
MUTATING = f"{GROUP}/mutatingwebhookconfigurations/kwicket"
VALUES = "operator.replicas=0,webhook.replicas=1,webhook.timeoutSeconds=2"


@pytest.fixture(scope="module", autouse=True)
def installed(helm: Tool, kubeconfig: Kubeconfig) -> Iterator[None]:
    """With a webhook whose pods can't work on a plane; what asks it goes on without an answer."""
    if release.is_installed(helm):
        pytest.skip("Kwicket is installed here, and these tests would take it away")
    release.install(helm, kubeconfig, *VALUES.split(","))
    yield
    release.uninstall(helm, kubeconfig)


def renew(helm: Tool, account: Path) -> subprocess.CompletedProcess[str]:
    """What the CronJob runs, as its service account."""
    documents = yaml.safe_load_all(helm("template", *RELEASE, "--set", VALUES).stdout)
    [cron] = (made for made in documents if made and made["kind"] == "CronJob")
    [container] = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    answer = commands.run(account, container)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer


def trusted(configuration: Object) -> set[str]:
    """Whom the API server trusts to be the webhook."""
    return {hook["clientConfig"].get("caBundle", "") for hook in configuration["webhooks"]}


async def test_the_certificate_is_made_with_the_rights_that_the_chart_gives(
    helm: Tool, kubeconfig: Kubeconfig, api: Api
) -> None:
    assert "data" not in await api.get(SECRET)
    account = kubeconfig("kwicket-system/kwicket-certificates")
    assert "there is none yet" in renew(helm, account).stdout
    made = await api.get(SECRET)
    assert made["data"].keys() == {"ca.crt", "tls.crt", "tls.key"}
    assert trusted(await api.get(VALIDATING)) == {made["data"]["ca.crt"]}
    assert "the certificate is good" in renew(helm, account).stdout
    assert (await api.get(SECRET))["data"] == made["data"]


async def test_an_upgrade_leaves_the_certificate_and_the_trust_in_it_alone(
    helm: Tool, kubeconfig: Kubeconfig, api: Api
) -> None:
    renew(helm, kubeconfig("kwicket-system/kwicket-certificates"))
    before = await api.get(SECRET)
    helm("upgrade", *RELEASE, "--set", VALUES.replace("timeoutSeconds=2", "timeoutSeconds=3"))
    configuration = await api.get(VALIDATING)
    assert {hook["timeoutSeconds"] for hook in configuration["webhooks"]} == {3}
    assert trusted(configuration) == {before["data"]["ca.crt"]}
    assert (await api.get(SECRET))["data"] == before["data"]


async def test_a_configuration_that_comes_later_is_trusted_by_the_next_run(
    helm: Tool, kubeconfig: Kubeconfig, api: Api
) -> None:
    account = kubeconfig("kwicket-system/kwicket-certificates")
    renew(helm, account)
    helm("upgrade", *RELEASE, "--set", f"{VALUES},mutation=Webhook")
    assert trusted(await api.get(MUTATING)) == {""}
    renew(helm, account)
    made = await api.get(SECRET)
    assert trusted(await api.get(MUTATING)) == {made["data"]["ca.crt"]}
    assert b"BEGIN CERTIFICATE" in base64.b64decode(made["data"]["ca.crt"])
    helm("upgrade", *RELEASE, "--set", VALUES)


@pytest.mark.parametrize(
    "question",
    [
        ("list", "secrets"),
        ("create", "secrets"),
        ("get", "secrets/other"),
        ("delete", "secrets/kwicket-webhook-certificate"),
        ("patch", "validatingwebhookconfigurations/other"),
        ("delete", "validatingwebhookconfigurations/kwicket"),
        ("patch", "jobs"),
    ],
    ids=" ".join,
)
def test_its_account_may_do_nothing_else(kubectl: Tool, question: tuple[str, ...]) -> None:
    who = "--as=system:serviceaccount:kwicket-system:kwicket-certificates"
    answer = kubectl("auth", "can-i", *question, who, "-n", "kwicket-system", check=False)
    assert answer.stdout == "no\n"


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("own_planes")
async def test_at_1_34_the_webhook_is_there_instead_of_the_policy_and_is_trusted(
    helm: Tool, tmp_path: Path
) -> None:
    plane = Plane.up(tmp_path / "plane", emulate="1.34")
    try:
        older = Tool(plane.bin("helm"), plane.kubeconfig, tmp_path)
        older("install", *RELEASE, "--create-namespace", "--set", VALUES)
        assert (
            "suspended by the webhook" in older("get", "notes", *RELEASE[:1], *RELEASE[2:]).stdout
        )
        renew(helm, plane.kubeconfig("kwicket-system/kwicket-certificates"))
        async with Api.open(plane.kubeconfig("admin")) as api:
            made = await api.get(SECRET)
            for path in (MUTATING, VALIDATING):
                assert trusted(await api.get(path)) == {made["data"]["ca.crt"]}
        older("uninstall", *RELEASE[:1], *RELEASE[2:])
    finally:
        plane.down()
