"""Every object of the chart, under every combination of its main values, fits the schemas of the
Kubernetes versions it is rendered for, to which every unknown field is a mistake.
"""

import itertools
import json
from collections.abc import Iterator

import jsonschema  # type: ignore[import-untyped]  # it has no types
import kubernetes_validate  # type: ignore[import-untyped]  # it has no types
import pytest

from support.chart import NEWER, OLDER, Object, needs_helm, rendered
from support.custom_kinds import CUSTOM_KINDS
from support.pairs import covering, met

pytestmark = needs_helm

MAIN = (
    ("mutation=Auto", "mutation=Policy", "mutation=Webhook"),
    ("webhook.enabled=true", "certificates.certManager.enabled=true", "webhook.enabled=false"),
    ("policies.enforce=true", "policies.enforce=false"),
)
"""Every combination of these is rendered."""
CIDRS = "networkPolicy.apiServer.cidrs={10.0.0.0/8,fd00::/8},networkPolicy.webhook.cidrs={::/0}"
MONITOR = "metrics.enabled=true,metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.force"
SHARED = "ledger.postgres"
SECRET = (
    f"{SHARED}.secret=shared,{SHARED}.cluster=east,{SHARED}.clusterLapse=900,{SHARED}.historyDays=7"
)
URL = f"{SHARED}.url=postgresql://east@db/kwicket,{SHARED}.cluster=east"
TERM = "podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
APART = f"affinity.{TERM}.topologyKey=kubernetes.io/hostname"
OTHERS = (
    ("operator.replicas=0", "operator.replicas=1", "operator.replicas=3"),
    ("webhook.replicas=1", "webhook.replicas=2"),
    ("operator.podDisruptionBudget=true", "operator.podDisruptionBudget=false"),
    ("webhook.podDisruptionBudget=true", "webhook.podDisruptionBudget=false"),
    ("networkPolicy.enabled=true", "networkPolicy.enabled=false", CIDRS),
    ("metrics.enabled=false", "metrics.enabled=true", f"{MONITOR}=true"),
    ("policies.owners={Flow}", "policies.owners={Workflow}", "policies.owners={a.b/C,Workflow}"),
    (
        "image.digest=",
        f"image.digest=sha256:{'a' * 64}",
        f"image.digest=sha256:{'b' * 64},image.tag=x",
    ),
    ("imagePullSecrets=null", "imagePullSecrets[0].name=mine"),
    ("crds.install=false", "crds.install=false,operator.logLevel=debug"),
    (
        f"{SHARED}.secret=",
        f"{SECRET},{SHARED}.ports={{5432,6432}}",
        f"{URL},{SHARED}.cidrs={{::/0}}",
    ),
    ("operator.priorityClassName=", f"operator.{APART}", f"webhook.{APART}"),
    ("certificates.resources.limits.cpu=1", "certificates.resources.limits.memory=128Mi"),
)
"""Each of these with each other, and with each of the main ones."""
FULL = (
    "image.digest=sha256:" + "0" * 64,
    "imagePullSecrets[0].name=mine",
    *(
        f"{part}.{value}"
        for part in ("operator", "webhook")
        for value in (
            "priorityClassName=system-cluster-critical",
            "nodeSelector.disk=fast",
            "tolerations[0].key=dedicated,operator.tolerations[0].operator=Exists",
            "resources.limits.cpu=2",
            APART,
        )
    ),
    f"{SECRET},{SHARED}.ports={{6432}},{SHARED}.cidrs[0]=10.0.0.1/32",
    "certificates.resources.limits.cpu=1,certificates.resources.limits.memory=128Mi",
    "certificates.certManager.enabled=true",
    "certificates.certManager.issuerRef.name=ours",
    "networkPolicy.apiServer.cidrs[0]=10.0.0.1/32",
    "metrics.enabled=true,metrics.namespaces={monitoring,observability}",
    "metrics.serviceMonitor.enabled=true,metrics.serviceMonitor.force=true",
    "metrics.serviceMonitor.labels.release=prometheus",
)


def combinations(version: str) -> Iterator[tuple[str, ...]]:
    """Those that the chart takes; without the definitions, which no value changes."""
    taken = []
    for values in itertools.product(*MAIN):
        without_policy = version in OLDER and "mutation=Policy" in values
        without_webhook = {"mutation=Webhook", "webhook.enabled=false"} <= set(values)
        if not without_policy and not without_webhook:
            taken.append(values)
    yield from covering(taken, OTHERS)


def wrong(made: Object, version: str) -> str | None:
    """What the schemas of this version say against the object."""
    custom = CUSTOM_KINDS.get((made["apiVersion"], made["kind"]))
    try:
        if custom is not None:
            jsonschema.validate(made["spec"], custom)
        else:
            kubernetes_validate.validate(made, version, strict=True)
    except (jsonschema.ValidationError, kubernetes_validate.SchemaNotFoundError) as error:
        return f"{version} {made['kind']} {made['metadata']['name']}: {error.message}"
    return None


@pytest.mark.timeout(180)
@pytest.mark.parametrize("version", [*OLDER, *NEWER])
def test_all_objects_fit_their_schemas(version: str) -> None:
    distinct = {
        json.dumps(made, sort_keys=True): made
        for values in (*combinations(version), FULL, ())
        for made in rendered(*values, version=version)
    }
    faults = [wrong(made, version) for made in distinct.values()]
    assert list(filter(None, faults)) == []
    assert len(distinct) > 50


def test_every_choice_meets_every_other_but_those_that_the_chart_refuses_together() -> None:
    for version in ("1.34", "1.37"):
        rows = list(combinations(version))
        together = set[frozenset[str]]().union(*map(met, rows))
        choices = {choice for row in rows for choice in row}
        sets = [{choice for choice in group if choice in choices} for group in (*MAIN, *OTHERS)]
        wanted = sum(len(one) * len(other) for one, other in itertools.combinations(sets, 2))
        assert len(together) == wanted - 1
        assert frozenset(("mutation=Webhook", "webhook.enabled=false")) not in together
        assert len(rows) < 40


def test_an_unknown_field_a_wrong_type_and_a_kind_of_a_later_version_are_faults() -> None:
    service: Object = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}}
    assert wrong(service, "1.34") is None
    assert wrong(service | {"spek": {}}, "1.34")
    assert wrong(service | {"spec": {"ports": [{"port": "http"}]}}, "1.34")
    assert wrong(
        {
            **service,
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicy",
        },
        "1.34",
    )


def test_who_suspends_new_jobs_depends_on_the_cluster_unless_it_is_said() -> None:
    def suspends(version: str, *values: str) -> set[str]:
        kinds = {made["kind"] for made in rendered(*values, version=version)}
        return kinds & {"MutatingAdmissionPolicy", "MutatingWebhookConfiguration"}

    policy, webhook = {"MutatingAdmissionPolicy"}, {"MutatingWebhookConfiguration"}
    assert suspends("1.35") == webhook
    assert suspends("1.36") == policy
    assert suspends("1.36", "mutation=Webhook") == webhook
    assert suspends("1.35", "webhook.enabled=false") == set()
    assert suspends("1.36", "webhook.enabled=false") == policy


def test_definitions_come_along_unless_they_are_left_out() -> None:
    def definitions(*values: str) -> int:
        kinds = [made["kind"] for made in rendered(*values)]
        return kinds.count("CustomResourceDefinition")

    assert definitions() == 4
    assert definitions("crds.install=false") == 0
