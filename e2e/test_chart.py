"""The chart under Helm: installed, upgraded to itself, taken away and installed again."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import yaml

from e2e import commands, release
from e2e.plane.api import Api, ApiError, Object
from e2e.release import NOTHING_RUNS, RELEASE, Kubeconfig
from e2e.tools import Tool

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
DEFINITIONS = [f"{kind}.kwicket.dev" for kind in ("pools", "lanes", "limits", "ledgers")]
POOL = {"apiVersion": "kwicket.dev/v1alpha1", "kind": "Pool", "metadata": {"name": "kept"}}


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


def test_an_upgrade_to_itself_changes_nothing(helm: Tool, kubectl: Tool) -> None:
    before = contents(helm, kubectl)
    helm("upgrade", *RELEASE, "--set", ",".join(NOTHING_RUNS))
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


async def test_the_pool_of_the_notes_works(helm: Tool, api: Api) -> None:
    notes = helm("get", "notes", "kwicket", "-n", "kwicket-system").stdout
    example = notes.split("<<END\n")[1].split("END\n")[0]
    for item in yaml.safe_load_all(example):
        path = f"/apis/kwicket.dev/v1alpha1/{item['kind'].lower()}s"
        assert await api.create(path, item, dryRun="All", fieldValidation="Strict")


EVERYTHING = ("--set", "mutation=Webhook,operator.replicas=2,metrics.enabled=true")


def test_the_api_server_takes_every_object_and_knows_every_field(helm: Tool, kubectl: Tool) -> None:
    """On top of what is installed; nothing is stored. The pod needs an account, so see below."""
    objects = [made for made in rendered(helm, *EVERYTHING) if made["kind"] != "Pod"]
    stdin = yaml.safe_dump_all(objects)
    strictly = ("--dry-run=server", "--validate=strict", "--server-side", "--force-conflicts")
    taken = kubectl("apply", *strictly, "-f", "-", stdin=stdin).stdout
    assert taken.count("\n") == len(objects)
    assert {"Deployment", "CronJob", "NetworkPolicy", "PodDisruptionBudget"} <= {
        made["kind"] for made in objects
    }


def pods(helm: Tool) -> dict[str, Object]:
    """The specs of the pods that the chart's objects make, by what makes them."""
    found: dict[str, Object] = {}
    for made in rendered(helm, *EVERYTHING):
        spec = made.get("spec", {})
        template = spec.get("jobTemplate", {}).get("spec", spec).get("template", {})
        if made["kind"] == "Pod" or "spec" in template:
            name = f"{made['kind']}-{made['metadata']['name']}".lower()
            found[name] = spec if made["kind"] == "Pod" else template["spec"]
    return found


async def test_every_pod_fits_where_only_the_most_restricted_may_run(
    helm: Tool, api: Api, namespace: str
) -> None:
    """It is admitted where Pod Security enforces `restricted`, and the same pod laxer is not."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await api.patch(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": labels}})
    path = f"/api/v1/namespaces/{namespace}/pods"
    made = pods(helm)
    assert len(made) == 5
    for name, spec in made.items():
        pod = {"metadata": {"name": name}, "spec": spec | {"serviceAccountName": "default"}}
        assert await api.create(path, pod, dryRun="All", fieldValidation="Strict")
        pod["spec"] = pod["spec"] | {"securityContext": {}}
        with pytest.raises(ApiError, match="restricted"):
            await api.create(path, pod, dryRun="All")


async def test_replicas_may_become_more_and_fewer(helm: Tool, api: Api) -> None:
    """With them the way of an update changes, of which no part may be left behind."""
    deployment = "/apis/apps/v1/namespaces/kwicket-system/deployments/kwicket"
    for replicas, strategy in ((1, "Recreate"), (2, "RollingUpdate"), (1, "Recreate")):
        values = f"operator.replicas={replicas},webhook.enabled=false"
        helm("upgrade", *RELEASE, "--set", values)
        spec = (await api.get(deployment))["spec"]
        assert (spec["replicas"], spec["strategy"]["type"]) == (replicas, strategy)
        assert ("rollingUpdate" in spec["strategy"]) is (replicas == 2)
    helm("upgrade", *RELEASE, "--set", ",".join(NOTHING_RUNS))


@contextmanager
def checking(helm: Tool, kubectl: Tool) -> Iterator[Object]:
    """The container of the release's `helm test`; its service account has its rights."""
    hooks = helm("get", "hooks", "kwicket", "-n", "kwicket-system").stdout
    mine = [made for made in yaml.safe_load_all(hooks) if made]
    [pod] = (made for made in mine if made["kind"] == "Pod")
    rights = yaml.safe_dump_all([made for made in mine if made["kind"] != "Pod"])
    kubectl("apply", "-f", "-", stdin=rights)
    try:
        [container] = pod["spec"]["containers"]
        yield container
    finally:
        kubectl("delete", "-f", "-", "--wait=false", stdin=rights)


def test_an_installation_that_works_passes_its_check(
    helm: Tool, kubectl: Tool, kubeconfig: Kubeconfig
) -> None:
    """As the service account, and with the arguments, that `helm test` has."""
    with checking(helm, kubectl) as container:
        answer = commands.run(kubeconfig("kwicket-system/kwicket-test"), container)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        assert answer.stdout.count(": ok\n") == 3
        alone = commands.run(kubeconfig("kwicket-system/default"), container)
        assert alone.returncode == 1
        assert "FAILED" in alone.stdout


async def test_an_installation_that_is_switched_off_passes_its_check_with_a_warning(
    helm: Tool, kubectl: Tool, kubeconfig: Kubeconfig, api: Api
) -> None:
    """Also with a Pool that no operator has seen, as none is meant to run."""
    await api.create("/apis/kwicket.dev/v1alpha1/pools", POOL)
    helm("upgrade", *RELEASE, "--set", ",".join((*NOTHING_RUNS, "policies.enforce=false")))
    try:
        await release.until_policies_act(kubeconfig("alice"), False)
        with checking(helm, kubectl) as container:
            answer = commands.run(kubeconfig("kwicket-system/kwicket-test"), container)
    finally:
        helm("upgrade", *RELEASE, "--set", ",".join(NOTHING_RUNS))
        release.await_force(kubeconfig)
        await api.delete("/apis/kwicket.dev/v1alpha1/pools/kept")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert answer.stdout.count("WARNING: it does not hold, since policies.enforce is false") == 2
    assert "WARNING: it does not hold, since operator.replicas is 0" in answer.stdout


MAY = [
    ("batch", "jobs", "", "patch"),
    ("batch", "jobs", "status", "patch"),
    ("", "pods", "", "watch"),
    ("", "nodes", "", "list"),
    ("kwicket.dev", "ledgers", "", "update"),
    ("kwicket.dev", "pools", "status", "patch"),
    ("kwicket.dev", "grants", "", "grant"),
    ("events.k8s.io", "events", "", "create"),
]
MAY_NOT = [
    ("batch", "jobs", "", "create"),
    ("batch", "jobs", "", "delete"),
    ("batch", "jobs", "status", "update"),
    ("", "pods", "", "create"),
    ("", "pods", "", "delete"),
    ("", "secrets", "", "get"),
    ("", "namespaces", "", "patch"),
    ("", "pods", "", "get"),
    ("apiextensions.k8s.io", "customresourcedefinitions", "", "watch"),
    ("apiextensions.k8s.io", "customresourcedefinitions", "", "get"),
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
