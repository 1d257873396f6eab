"""The pods of the chart: what they may do on their nodes, and that all parts mean each other."""

from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from kwicket.cli import main
from kwicket.kube.webhook import server
from support.chart import NAMESPACE, Object, named, needs_helm, pod_specs, rendered

pytestmark = needs_helm

PODS = {
    "Deployment/kwicket": "kwicket",
    "Deployment/kwicket-webhook": "kwicket-webhook",
    "CronJob/kwicket-certificates": "kwicket-certificates",
    "Job/kwicket-certificates": "kwicket-certificates",
    "Pod/kwicket-test": "kwicket-test",
}
"""Each with its service account."""


def pods(*values: str) -> dict[str, Object]:
    """The pods by what makes them; a Job's name without the sum of its content."""
    made = {}
    for maker, spec in pod_specs(rendered(*values)):
        kind, _, name = maker.partition("/")
        made[f"Job/{name.rpartition('-')[0]}" if kind == "Job" else maker] = spec
    return made


def containers() -> Iterator[tuple[str, Object]]:
    for maker, spec in pods().items():
        [container] = spec["containers"]
        yield maker, container


def test_each_pod_has_a_service_account_of_its_own() -> None:
    assert {maker: spec["serviceAccountName"] for maker, spec in pods().items()} == PODS
    for account in set(PODS.values()):
        assert named(rendered(), "ServiceAccount", account)["automountServiceAccountToken"] is False


def test_every_pod_is_as_restricted_as_pod_security_knows() -> None:
    for maker, spec in pods().items():
        context = spec["securityContext"]
        assert context["runAsNonRoot"] is True, maker
        assert context["runAsUser"] == context["runAsGroup"] == 65532, maker
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, maker
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys(), maker
        assert all("secret" in volume for volume in spec.get("volumes", [])), maker
    for maker, container in containers():
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, maker
        assert container["resources"].keys() == {"requests", "limits"}, maker


def test_every_pod_runs_the_image_by_its_digest_if_there_is_one() -> None:
    digest = "sha256:" + "a" * 64
    for values, image in (
        ((), "kwicket:0.1.0"),
        (("image.tag=x",), "kwicket:x"),
        ((f"image.digest={digest}",), f"kwicket@{digest}"),
        ((f"image.digest={digest}", "image.tag=x"), f"kwicket:x@{digest}"),
    ):
        for spec in pods(*values, "imagePullSecrets[0].name=mine").values():
            assert spec["containers"][0]["image"] == image
            assert spec["imagePullSecrets"] == [{"name": "mine"}]


def test_every_command_is_one_that_the_image_has() -> None:
    for maker, container in containers():
        program, command = container["command"]
        assert program == "kwicket", maker
        options = {o for p in main.commands[command].params for o in (*p.opts, *p.secondary_opts)}
        words = [word.partition("=")[0] for word in container["args"] if word.startswith("--")]
        assert set(words) <= options, maker


@pytest.mark.parametrize("maker", ["CronJob/kwicket-certificates", "Pod/kwicket-test"])
@pytest.mark.usefixtures("own_logs")
def test_its_arguments_are_understood(maker: str) -> None:
    """Without a cluster it gets as far as looking for its service account."""
    [container] = pods()[maker]["containers"]
    result = CliRunner().invoke(main, [*container["command"][1:], *container["args"]])
    assert result.exit_code == 2
    assert "no access by the pod's service account" in result.output


def selected(objects: tuple[Object, ...], labels: dict[str, str]) -> list[str]:
    """The pods with these labels."""
    found = []
    for made in objects:
        template = made.get("spec", {}).get("template")
        if template and labels.items() <= template["metadata"].get("labels", {}).items():
            found.append(f"{made['kind']}/{made['metadata']['name']}")
    return found


def selectors(made: Object) -> Iterator[dict[str, Any]]:
    spec = made.get("spec", {})
    match made["kind"]:
        case "Service":
            yield spec["selector"]
        case "PodDisruptionBudget":
            yield spec["selector"]["matchLabels"]
        case "NetworkPolicy" if made["metadata"]["name"] != "kwicket-certificates":
            yield spec["podSelector"]["matchLabels"]
        case "Deployment":
            yield spec["selector"]["matchLabels"]
            for spread in spec["template"]["spec"]["topologySpreadConstraints"]:
                yield spread["labelSelector"]["matchLabels"]


def test_every_selector_selects_the_pods_of_its_own_name_and_no_others() -> None:
    objects = rendered("operator.replicas=2")
    number = 0
    for made in objects:
        for labels in selectors(made):
            number += 1
            assert selected(objects, labels) == [f"Deployment/{made['metadata']['name']}"]
    assert number == 1 + 2 + 2 + 2 * 3


def test_the_selectors_of_the_first_chart_stay_since_they_can_not_change() -> None:
    operator = named(rendered(), "Deployment")
    assert operator["spec"]["selector"] == {
        "matchLabels": {
            "app.kubernetes.io/name": "kwicket",
            "app.kubernetes.io/instance": "kwicket",
        }
    }


def test_budgets_are_for_more_than_one_replica() -> None:
    def budgets(*values: str) -> set[str]:
        made = rendered(*values)
        return {o["metadata"]["name"] for o in made if o["kind"] == "PodDisruptionBudget"}

    assert budgets("operator.replicas=1", "webhook.replicas=1") == set()
    assert budgets("operator.replicas=2", "webhook.replicas=2") == {"kwicket", "kwicket-webhook"}
    assert budgets("operator.replicas=2", "operator.podDisruptionBudget=false") == {
        "kwicket-webhook"
    }


def test_nothing_comes_in_but_reviews_and_nothing_goes_out_but_to_the_api_server() -> None:
    objects = rendered(
        "networkPolicy.apiServer.cidrs[0]=10.0.0.1/32",
        "networkPolicy.webhook.cidrs[0]=10.0.0.2/32",
    )
    for name, open_ports in (
        ("kwicket", []),
        ("kwicket-webhook", [8443]),
        ("kwicket-certificates", []),
    ):
        spec = named(objects, "NetworkPolicy", name)["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert [
            port["port"] for rule in spec.get("ingress", []) for port in rule["ports"]
        ] == open_ports
        for rule in spec.get("ingress", []):
            assert rule["from"] == [{"ipBlock": {"cidr": "10.0.0.2/32"}}]
        [out] = spec["egress"]
        assert [port["port"] for port in out["ports"]] == [443, 6443, 8443, 16443]
        assert out["to"] == [{"ipBlock": {"cidr": "10.0.0.1/32"}}]


def test_the_ports_and_files_of_the_webhook_are_those_it_is_told() -> None:
    spec = pods()["Deployment/kwicket-webhook"]
    [container] = spec["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert f"--listen=0.0.0.0:{ports['webhook']}" in container["args"]
    assert f"--probes=0.0.0.0:{ports['probes']}" in container["args"]
    assert (
        named(rendered(), "Service", "kwicket-webhook")["spec"]["ports"][0]["targetPort"]
        == "webhook"
    )
    [mount], [volume] = container["volumeMounts"], spec["volumes"]
    files = {f"{mount['mountPath']}/{item['path']}" for item in volume["secret"]["items"]}
    assert {word.partition("=")[2] for word in container["args"] if "=/" in word} == files
    assert volume["secret"]["secretName"] == "kwicket-webhook-certificate"


def test_what_writes_the_certificate_means_the_webhooks_objects() -> None:
    objects = rendered("mutation=Webhook")
    told = dict(
        word[2:].split("=")
        for word in pods()["CronJob/kwicket-certificates"]["containers"][0]["args"]
    )
    assert told["namespace"] == NAMESPACE
    assert named(objects, "Service", told["service"])
    assert "data" not in named(objects, "Secret", told["secret"])
    for kind in ("Mutating", "Validating"):
        for hook in named(objects, f"{kind}WebhookConfiguration", told["configuration"])[
            "webhooks"
        ]:
            service = hook["clientConfig"]["service"]
            assert (service["name"], service["namespace"]) == (told["service"], NAMESPACE)
            assert "caBundle" not in hook["clientConfig"]


def test_with_cert_manager_there_is_no_job_and_the_secret_is_its_own() -> None:
    objects = rendered("certificates.certManager.enabled=true")
    certificate = named(objects, "Certificate", "kwicket-webhook")["spec"]
    spec = dict(pod_specs(objects))["Deployment/kwicket-webhook"]
    assert spec["volumes"][0]["secret"]["secretName"] == certificate["secretName"]
    assert certificate["dnsNames"] == [f"kwicket-webhook.{NAMESPACE}.svc"]
    assert named(objects, "Issuer", certificate["issuerRef"]["name"])
    injected = named(objects, "ValidatingWebhookConfiguration")["metadata"]["annotations"]
    assert injected == {"cert-manager.io/inject-ca-from": f"{NAMESPACE}/kwicket-webhook"}
    assert not {"Job", "CronJob", "Secret"} & {made["kind"] for made in objects}


def test_an_issuer_of_yours_signs_if_you_name_it() -> None:
    objects = rendered(
        "certificates.certManager.enabled=true",
        "certificates.certManager.issuerRef.name=ours",
        "certificates.certManager.issuerRef.kind=ClusterIssuer",
    )
    [certificate] = (made for made in objects if made["apiVersion"].startswith("cert-manager.io"))
    assert certificate["spec"]["issuerRef"] == {
        "name": "ours",
        "kind": "ClusterIssuer",
        "group": "cert-manager.io",
    }


def test_a_job_that_is_to_run_again_has_another_name() -> None:
    """Its pods don't change, and a webhook configuration that comes back wants a caBundle."""

    def name(*values: str) -> str:
        [job] = (made for made in rendered(*values) if made["kind"] == "Job")
        return str(job["metadata"]["name"])

    assert name() == name("operator.replicas=2")
    assert name() != name("image.tag=other")
    assert name() != name("mutation=Webhook")
    assert name("mutation=Webhook") != name("mutation=Webhook", "policies.enforce=false")
    assert len(name()) < 63


def test_where_reviews_come_from_is_left_open_unless_it_is_said() -> None:
    [into] = named(rendered(), "NetworkPolicy", "kwicket-webhook")["spec"]["ingress"]
    assert into == {"ports": [{"port": 8443, "protocol": "TCP"}]}


def test_a_pod_of_the_webhook_waits_until_it_is_no_longer_asked_before_it_ends() -> None:
    """Sleeping needs no program in the image; all that follows has to fit in the grace period."""
    spec = pods()["Deployment/kwicket-webhook"]
    [container] = spec["containers"]
    seconds = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert seconds + server.LINGER + server.GRACE < spec.get("terminationGracePeriodSeconds", 30)


def test_unlabelled_jobs_and_the_operator_never_wait_for_the_webhook() -> None:
    for kind in ("Mutating", "Validating"):
        hooks = named(rendered("mutation=Webhook"), f"{kind}WebhookConfiguration")["webhooks"]
        for hook in hooks:
            assert hook["failurePolicy"] == "Ignore"
            assert hook["timeoutSeconds"] == 3
            assert hook["sideEffects"] == "None"
            if hook["rules"][0]["resources"] == ["jobs"]:
                [only] = hook["objectSelector"]["matchExpressions"]
                assert only == {"key": "kwicket.dev/tenant", "operator": "Exists"}
                [operator, changes] = hook["matchConditions"]
                account = f"'system:serviceaccount:{NAMESPACE}:kwicket'"
                assert operator["expression"] == f"request.userInfo.username != {account}"
                assert changes["expression"].startswith("request.operation == 'CREATE' || ")
                said = {"Mutating": ["CREATE", "UPDATE"], "Validating": ["CREATE"]}
                assert hook["rules"][0]["operations"] == said[kind]


def test_without_enforcement_no_review_of_jobs_is_asked_for() -> None:
    objects = rendered("mutation=Webhook", "policies.enforce=false")
    hooks = named(objects, "ValidatingWebhookConfiguration")["webhooks"]
    assert [hook["name"] for hook in hooks] == ["objects.kwicket.dev"]
    assert "MutatingWebhookConfiguration" not in {made["kind"] for made in objects}
