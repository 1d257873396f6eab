"""The chart under Helm: installed, upgraded to itself, taken away and installed again."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from e2e import release
from e2e.plane.api import Api, ApiError, Object
from e2e.release import CHART, RELEASE, Kubeconfig
from e2e.tools import Tool

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
DEFINITIONS = [f"{kind}.kwicket.dev" for kind in ("pools", "lanes", "limits", "ledgers")]
POOL = {"apiVersion": "kwicket.dev/v1alpha1", "kind": "Pool", "metadata": {"name": "kept"}}
MUTATING = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"


@pytest.fixture(scope="module", autouse=True)
def installed(helm: Tool, kubeconfig: Kubeconfig) -> Iterator[None]:
    if release.is_installed(helm):
        pytest.skip("Kwicket is installed here, and these tests would take it away")
    with release.installed(helm, kubeconfig):
        yield


def rendered(helm: Tool, *words: str) -> list[dict[str, Any]]:
    text = helm("template", *RELEASE, *words).stdout
    return [document for document in yaml.safe_load_all(text) if document]


def contents(helm: Tool, kubectl: Tool) -> dict[str, Object]:
    """Every object of the release, but for the record of who applied it when."""
    for name in ("guard", "ledgers", "managed", "namespaces", "pods", "templates", "tenants"):
        judged = ("--for=jsonpath={.status.observedGeneration}=1", "--timeout=20s")
        kubectl("wait", f"validatingadmissionpolicy/kwicket-{name}", *judged)
    manifest = helm("get", "manifest", "kwicket", "-n", "kwicket-system").stdout
    listed = kubectl("get", "-n", "kwicket-system", "-f", "-", "-o", "json", stdin=manifest)
    items: list[Object] = json.loads(listed.stdout)["items"]
    for item in items:
        del item["metadata"]["resourceVersion"]
    return {f"{item['kind']}/{item['metadata']['name']}": item for item in items}


def test_the_chart_has_nothing_to_complain_of(helm: Tool) -> None:
    linted = helm("lint", "--strict", str(CHART)).stdout
    assert "WARNING" not in linted
    assert "0 chart(s) failed" in linted


def test_an_upgrade_to_itself_changes_nothing(helm: Tool, kubectl: Tool) -> None:
    before = contents(helm, kubectl)
    helm("upgrade", *RELEASE, "--set", "operator.replicas=0")
    assert contents(helm, kubectl) == before
    assert len(before) >= 18


async def test_pools_outlive_the_release(
    helm: Tool, kubectl: Tool, kubeconfig: Kubeconfig, api: Api
) -> None:
    """Uninstalling keeps definitions and Pools, and a new install takes them over."""
    pools = "/apis/kwicket.dev/v1alpha1/pools"
    pool = await api.create(pools, POOL)
    release.uninstall(helm, kubeconfig)
    assert kubectl("get", "crd", *DEFINITIONS, "-o", "name").stdout.count("\n") == 4
    assert "kwicket" not in kubectl("get", "validatingadmissionpolicies", "-o", "name").stdout
    release.install(helm, kubeconfig)
    assert await api.get(f"{pools}/kept") == pool
    await api.delete(f"{pools}/kept")


def test_the_notes_warn_of_what_is_missing(helm: Tool) -> None:
    notes = helm("get", "notes", "kwicket", "-n", "kwicket-system").stdout
    assert "WARNING: operator.replicas is 0" in notes
    assert "MutatingAdmissionPolicy" not in notes


async def test_the_pool_of_the_notes_works(helm: Tool, api: Api) -> None:
    notes = helm("get", "notes", "kwicket", "-n", "kwicket-system").stdout
    example = notes.split("<<END\n")[1].split("END\n")[0]
    for item in yaml.safe_load_all(example):
        path = f"/apis/kwicket.dev/v1alpha1/{item['kind'].lower()}s"
        assert await api.create(path, item, dryRun="All", fieldValidation="Strict")


def test_older_servers_get_no_policy_they_do_not_know(helm: Tool) -> None:
    kinds = [document["kind"] for document in rendered(helm)]
    assert "MutatingAdmissionPolicy" not in kinds
    assert kinds.count("ValidatingAdmissionPolicy") == 7
    newer = [document["kind"] for document in rendered(helm, "--api-versions", MUTATING)]
    assert {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"} <= set(newer)


def test_definitions_can_be_left_out(helm: Tool) -> None:
    kinds = [document["kind"] for document in rendered(helm, "--set", "crds.install=false")]
    assert "CustomResourceDefinition" not in kinds


@pytest.mark.parametrize(
    "value",
    [
        "operator.replica=1",
        "operator.replicas=2",
        "operator.image.tag=a b",
        "x=1",
        "policies.enforced=false",
        "policies.owners={x'y}",
    ],
)
def test_a_value_that_means_nothing_is_refused(helm: Tool, value: str) -> None:
    assert helm("template", *RELEASE, "--set", value, check=False).returncode != 0


async def test_the_operator_fits_the_strictest_pods(helm: Tool, api: Api, namespace: str) -> None:
    """Its pod is admitted where Pod Security enforces `restricted`."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": labels}})
    [deployment] = [d for d in rendered(helm) if d["kind"] == "Deployment"]
    spec: Object = deployment["spec"]["template"]["spec"] | {"serviceAccountName": "default"}
    pods = f"/api/v1/namespaces/{namespace}/pods"
    operator = {"metadata": {"name": "operator"}, "spec": spec}
    assert await api.create(pods, operator, dryRun="All", fieldValidation="Strict")
    assert deployment["spec"]["replicas"] == 1
    operator["spec"] = spec | {"securityContext": {}}
    with pytest.raises(ApiError, match="restricted"):
        await api.create(pods, operator, dryRun="All")


MAY = [
    ("batch", "jobs", "", "patch"),
    ("", "pods", "", "watch"),
    ("", "nodes", "", "list"),
    ("kwicket.dev", "ledgers", "", "update"),
    ("kwicket.dev", "pools", "status", "patch"),
    ("kwicket.dev", "grants", "", "grant"),
    ("apiextensions.k8s.io", "customresourcedefinitions", "", "watch"),
    ("events.k8s.io", "events", "", "create"),
]
MAY_NOT = [
    ("batch", "jobs", "", "create"),
    ("batch", "jobs", "", "delete"),
    ("batch", "jobs", "status", "patch"),
    ("", "pods", "", "create"),
    ("", "pods", "", "delete"),
    ("", "secrets", "", "get"),
    ("", "namespaces", "", "patch"),
    ("kwicket.dev", "pools", "", "patch"),
    ("kwicket.dev", "ledgers", "", "delete"),
    ("kwicket.dev", "tenants", "", "assign"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "", "patch"),
]


async def test_the_operator_may_do_its_work_and_no_more(kubeconfig: Kubeconfig) -> None:
    async with Api.open(kubeconfig("kwicket-system/kwicket")) as operator:
        for wanted, asks in ((True, MAY), (False, MAY_NOT)):
            for group, resource, sub, verb in asks:
                asked = {"group": group, "resource": resource, "subresource": sub, "verb": verb}
                review = {"spec": {"resourceAttributes": asked}}
                answer = await operator.create(REVIEWS, review)
                assert answer["status"]["allowed"] is wanted, asked
