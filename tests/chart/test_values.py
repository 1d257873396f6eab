"""Values that mean nothing are refused, in words that name the value; notes warn of unwise ones."""

import re

import pytest

from support.chart import CHART, helm, needs_helm, notes, refusal

pytestmark = needs_helm

LIMIT = "webhook.resources.limits.cpu"
ISSUER = "certificates.certManager.issuerRef"
POSTGRES = "ledger.postgres"
TAINT = "operator.tolerations[0].key=a,operator.tolerations[0]"
SOON = "DuringSchedulingIgnoredDuringExecution"
TERMS = f"operator.affinity.nodeAffinity.required{SOON}.nodeSelectorTerms"
EXPRESSION = f"{TERMS}[0].matchExpressions[0]"
APART = f"webhook.affinity.podAntiAffinity.preferred{SOON}"
SENSELESS = [
    ("operator.replica=1", "'/operator': additional properties 'replica' not allowed"),
    ("operator.replicas=4", "'/operator/replicas': maximum: got 4, want 3"),
    ("operator.replicas=many", "'/operator/replicas': got string, want integer"),
    ("operator.logLevel=loud", "'/operator/logLevel': value must be one of"),
    ("operator.resources.limit.cpu=1", "'/operator/resources': additional properties 'limit'"),
    ("operator.image.tag=1", "'/operator': additional properties 'image' not allowed"),
    ("webhook.replicas=0", "'/webhook/replicas': minimum: got 0, want 1"),
    ("webhook.timeoutSeconds=1", "'/webhook/timeoutSeconds': minimum: got 1, want 2"),
    ("webhook.timeoutSeconds=31", "'/webhook/timeoutSeconds': maximum: got 31, want 10"),
    ("webhook=null", "missing property 'webhook'"),
    ("mutation=Maybe", "'/mutation': value must be one of 'Auto', 'Policy', 'Webhook'"),
    ("image.tag=a b", "'/image/tag': 'a b' does not match pattern"),
    ("image.repository=Kwicket", "'/image/repository': 'Kwicket' does not match pattern"),
    ("image.digest=sha256:1", "'/image/digest': 'sha256:1' does not match pattern"),
    ("networkPolicy.apiServer.ports=null", "'/networkPolicy/apiServer': missing property 'ports'"),
    ("networkPolicy.apiServer.ports[0]=0", "'/networkPolicy/apiServer/ports/0': minimum"),
    ("networkPolicy.apiServer.cidrs[0]=10.0.0.1", "cidrs/0': '10.0.0.1' does not match pattern"),
    ("metrics.namespaces=null", "'/metrics': missing property 'namespaces'"),
    ("metrics.namespaces[0]=Monitoring", "namespaces/0': 'Monitoring' does not match pattern"),
    ("metrics.serviceMonitor.interval=1m", "serviceMonitor': additional properties 'interval'"),
    ("metrics.port=1", "'/metrics': additional properties 'port' not allowed"),
    ("networkPolicy.webhook.cidrs[0]=::1", "cidrs/0': '::1' does not match pattern"),
    ("operator.resources.requests.cpu=banana", "requests/cpu': 'banana' does not match pattern"),
    ("operator.resources.limits.memory=-1", "limits/memory': minimum: got -1, want 0"),
    ("networkPolicy.webhook=null", "'/networkPolicy': missing property 'webhook'"),
    ("x=1", "at '': additional properties 'x' not allowed"),
    ("policies.owners[0]=jobset/v1/JobSet", "owners/0': 'jobset/v1/JobSet' does not match pattern"),
    ("ledger.postgres.url=mysql://x", "'/ledger/postgres/url': 'mysql://x' does not match pattern"),
    ("ledger.postgres.secret=a,ledger.postgres.cluster=", "'/ledger/postgres/cluster'"),
    ("ledger.postgres.cluster=east", "'/ledger/postgres/cluster': maxLength"),
    ("ledger.postgres.clusterLapse=60", "'/ledger/postgres/clusterLapse'"),
    ("ledger.postgres.historyDays=90", "'/ledger/postgres/historyDays': value must be 30"),
    ("ledger.postgres.historyDays=0", "'/ledger/postgres/historyDays': minimum: got 0, want 1"),
    ("ledger.postgres.historyDays=36501", "'/ledger/postgres/historyDays': maximum: got 36,501"),
    ("ledger.postgres.historyDays=1.5", "historyDays': got string, want integer"),
    ("ledger.postgres.secret=a..b", "'/ledger/postgres/secret': 'a..b' does not match pattern"),
    ("ledger.postgres.ports[0]=0", "'/ledger/postgres/ports/0': minimum"),
    ("ledger.mysql.url=x", "'/ledger': additional properties 'mysql' not allowed"),
    ("policies.owners[0]=jobSet", "owners/0': 'jobSet' does not match pattern"),
    ("image.repository=kwicket:1.0", "'/image/repository': 'kwicket:1.0' does not match pattern"),
    ("image.repository=a//b", "'/image/repository': 'a//b' does not match pattern"),
    ("imagePullSecrets[0].name=My_Secret", "0/name': 'My_Secret' does not match pattern"),
    ("operator.priorityClassName=High", "priorityClassName': 'High' does not match pattern"),
    ("webhook.nodeSelector.disk=a b", "'/webhook/nodeSelector/disk': 'a b' does not match pattern"),
    ("webhook.nodeSelector.a b=c", "'/webhook/nodeSelector': additional properties 'a b' not"),
    (
        f"{APART}[0].podAffinityTerm.labelSelector.matchLabels.a b=c",
        "'/webhook/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/0"
        "/podAffinityTerm/labelSelector/matchLabels': additional properties 'a b' not allowed",
    ),
    ("metrics.serviceMonitor.labels.a b=c", "'/metrics/serviceMonitor/labels': additional prope"),
    ("operator.tolerations[0].key=a/b/c", "tolerations/0/key': 'a/b/c' does not match pattern"),
    ("operator.resources.limits.memry=1Gi", "'/operator/resources/limits': additional properties"),
    ("certificates.resources.requests.CPU=1", "'/certificates/resources/requests': additional pr"),
    ("webhook.resources.limits.memory=200m", "limits/memory': '200m' does not match pattern"),
    ("webhook.resources.requests.memory=9u", "requests/memory': '9u' does not match pattern"),
    ("operator.resources.limits.memory=9n", "limits/memory': '9n' does not match pattern"),
    ("operator.resources.limits.cpu=9u", "limits/cpu': '9u' does not match pattern"),
    ("operator.resources.limits.memory=1", "limits.memory is 1, with which nothing of Kwicket r"),
    ("certificates.resources.limits.memory=95Mi", "is 95Mi, with which nothing of Kwicket runs: w"),
    (
        f"{LIMIT}=9m",
        "webhook.resources.limits.cpu is 9m, with which nothing of Kwicket runs: write 10m",
    ),
    (f"{LIMIT}=99999999999999999999", "webhook.resources.limits.cpu is 99999999999999999999, whi"),
    ("operator.resources.requests.cpu=20000", "requests.cpu is 20000, which no node has: write 1"),
    ("operator.resources.requests.memory=2Ei", "requests.memory is 2Ei, which no node has: write"),
    ("operator.affinity.nodeAffinity.required=1", "properties 'required' not allowed"),
    (f"{TERMS}[0].matchExpressions[0].key=a", "missing property 'operator'"),
    (f"{EXPRESSION}.operator=In,{EXPRESSION}.key=a", "missing property 'values'"),
    (
        f"{EXPRESSION}.operator=Gt,{EXPRESSION}.key=a,{EXPRESSION}.values={{x}}",
        "'x' does not match",
    ),
    (
        f"{EXPRESSION}.operator=Exists,{EXPRESSION}.key=a,{EXPRESSION}.values={{x}}",
        "maxItems: got 1",
    ),
    (f"{APART}[0].weight=101", "weight': maximum: got 101, want 100"),
    (f"{APART}[0].podAffinityTerm.namespaces={{a}}", "missing property 'topologyKey'"),
    ("networkPolicy.apiServer.ports={443,443}", "items at 0 and 1 are equal"),
    ("certificates.certManager.issuerRef.name=Ours", "'Ours' does not match pattern"),
    ("certificates.certManager.issuerRef.group=a..b", "'a..b' does not match pattern"),
    ("certificates.certManager.issuerRef.kind=ClusterIssuer", "no name: set the name of your Clus"),
    (
        "certificates.certManager.issuerRef.group=a.b",
        "of kind Issuer and group a.b, and has no nam",
    ),
    ("certificates.certManager.issuerRef.kind=Isuer", "the group cert-manager.io has Issuer and"),
    ("metrics.serviceMonitor.labels.release=a b", "labels/release': 'a b' does not match pattern"),
    (r"metrics.serviceMonitor.labels.helm\.sh/chart=x", "which the chart writes itself: choose"),
    ("operator.tolerations[0].effect=NoSchedule", "which names no key: write one, or operator: E"),
    (f"{TAINT}.operator=Exists,{TAINT}.value=b", "whose operator Exists compares no value: leave"),
    (f"{TAINT}.operator=Gt,{TAINT}.value=b", "whose operator compares whole numbers: write one"),
    (f"{TAINT}.tolerationSeconds=4", "mean something for effect: NoExecute only: write it, or"),
    ("operator.resources.requests.memory=1Gi", "1Gi, which is more than limits.memory, 512Mi: low"),
    (
        "certificates.resources.requests.memory=300M",
        "300M, which is more than limits.memory, 256Mi",
    ),
    (f"{LIMIT}=1500m,webhook.resources.requests.cpu=2", "2, which is more than limits.cpu, 1500m"),
]

CIDRS = [
    "999.1/999",
    "999.1.1.1/99",
    "10.0.0.0/33",
    "256.0.0.0/8",
    "1::2::3/8",
    "::/129",
    "1:2:3/64",
    "1:2:3:4:5:6:7:8:9/64",
]
SENSIBLE = [
    "policies.owners={jobset.x-k8s.io/JobSet,Workflow}",
    "image.repository=Registry.example:5000/team/kwicket__x",
    "networkPolicy.apiServer.cidrs={10.0.0.0/8,192.0.2.1/32,0.0.0.0/0}",
    "networkPolicy.webhook.cidrs={::/0,::1/128,fd00::/8,1:2:3:4:5:6:7:8/64,1::8/64,1:2::7:8/127}",
    f"{TAINT}.operator=Exists,{TAINT}.effect=NoExecute,{TAINT}.tolerationSeconds=4",
    "operator.tolerations[0].operator=Exists",
    f"{EXPRESSION}.operator=In,{EXPRESSION}.key=topology.kubernetes.io/zone,{EXPRESSION}.values={{a}}",
    f"{APART}[0].weight=1,{APART}[0].podAffinityTerm.topologyKey=kubernetes.io/hostname",
    r"operator.nodeSelector.node-role\.kubernetes\.io/worker=",
    "operator.resources.requests.memory=512Mi,operator.resources.limits.memory=536870912",
    f"{LIMIT}=1.5,webhook.resources.requests.cpu=1500m",
    r"operator.resources.limits.example\.com/gpu=1",
    f"{ISSUER}.kind=Mine,{ISSUER}.group=a.b,{ISSUER}.name=ours,certificates.certManager.enabled=true",
    "ledger.postgres.cidrs={10.0.0.0/8,fd00::/8}",
    "operator.resources.limits.memory=96Mi,operator.resources.requests.memory=96Mi",
    "operator.resources.limits.memory=128e6,operator.resources.requests.memory=0",
    "operator.resources.limits.cpu=0.01,operator.resources.requests.cpu=0",
    "webhook.timeoutSeconds=2",
]


@pytest.mark.parametrize(
    "place", ["networkPolicy.webhook", "networkPolicy.apiServer", "ledger.postgres"]
)
@pytest.mark.parametrize("cidr", CIDRS)
def test_what_is_no_range_of_addresses_is_refused_with_examples(place: str, cidr: str) -> None:
    assert f"{place}.cidrs has {cidr}, which is no range of addresses, such as" in (
        refusal(f"{place}.cidrs[0]={cidr}")
    )


@pytest.mark.parametrize("value", SENSIBLE)
def test_what_kubernetes_takes_is_taken(value: str) -> None:
    assert refusal(value) == ""


@pytest.mark.parametrize(("value", "words"), SENSELESS, ids=[value for value, _ in SENSELESS])
def test_a_value_that_means_nothing_is_refused(value: str, words: str) -> None:
    assert words in refusal(value)


def test_values_that_make_no_sense_together_are_refused_with_the_way_out() -> None:
    assert "set webhook.enabled=true, or mutation=Auto" in refusal(
        "mutation=Webhook", "webhook.enabled=false"
    )
    assert "Kubernetes v1.35.0 has no MutatingAdmissionPolicy in version v1" in refusal(
        "mutation=Policy", version="1.35"
    )
    assert "set enabled=true to have ours sign" in refusal(
        "certificates.certManager.issuerRef.name=ours"
    )


def test_a_service_monitor_is_refused_where_nothing_would_come_of_it() -> None:
    asked = "metrics.serviceMonitor.enabled=true"
    assert "nothing to scrape: set metrics.enabled=true" in refusal(asked)
    assert "install the Prometheus Operator before, or set metrics.serviceMonitor.force=true" in (
        refusal(asked, "metrics.enabled=true")
    )


def test_nobody_is_not_a_set_of_scrapers() -> None:
    """An empty list would let everybody in."""
    refused = helm("lint", str(CHART), "--set-json", "metrics.namespaces=[]")
    assert "'/metrics/namespaces': minItems: got 0, want 1" in refused.stdout + refused.stderr


def test_a_chart_for_older_clusters_than_it_is_for_is_refused() -> None:
    assert "incompatible with Kubernetes v1.33" in refusal(version="1.33")


def test_the_chart_has_nothing_to_complain_of() -> None:
    for values in ((), ("--set", "certificates.certManager.enabled=true,operator.replicas=2")):
        linted = helm("lint", "--strict", str(CHART), *values)
        assert linted.returncode == 0
        assert "WARNING" not in linted.stdout


WISE = ("mutation=Policy",)
WARNED = [
    ("policies.enforce=false", "policies.enforce is false"),
    ("operator.replicas=0", "operator.replicas is 0"),
    ("operator.replicas=1", "operator.replicas is 1"),
    ("operator.podDisruptionBudget=false", "operator.podDisruptionBudget is false"),
    ("webhook.enabled=false", "webhook.enabled is false"),
    ("webhook.replicas=1", "webhook.replicas is 1"),
    ("webhook.podDisruptionBudget=false", "webhook.podDisruptionBudget is false"),
    ("networkPolicy.enabled=false", "networkPolicy.enabled is false"),
    ("crds.install=false", "crds.install is false"),
    (f"{POSTGRES}.url=postgresql://a:b@c/d,{POSTGRES}.cluster=east", f"{POSTGRES}.url is set. Its"),
    (f"{POSTGRES}.cidrs[0]=10.0.0.0/8", f"{POSTGRES}.cidrs are set: without {POSTGRES}.secret or"),
    ("metrics.serviceMonitor.labels.a=b", "metrics.serviceMonitor.labels are set: without metr"),
]
UNUSED = [
    (
        ("webhook.enabled=false", "certificates.certManager.enabled=true"),
        "certificates.certManager.enabled is true: without webhook.enabled there is no certificate",
    ),
    *(
        (
            ("networkPolicy.enabled=false", f"{place}.cidrs[0]=10.0.0.0/8"),
            f"{place}.cidrs are set: w",
        )
        for place in ("networkPolicy.webhook", "networkPolicy.apiServer")
    ),
    (
        (
            "networkPolicy.enabled=false",
            f"{POSTGRES}.secret=x,{POSTGRES}.cluster=east,{POSTGRES}.cidrs[0]=10.0.0.0/8",
        ),
        f"{POSTGRES}.cidrs are set: without networkPolicy.enabled they limit nothing.",
    ),
]
WORDS_OF_ENFORCEMENT = [
    "suspended", "refused", "nothing new starts", "is accepted", "and wait", "told what is wrong",
]  # fmt: skip
NO_POOL = "WARNING: there is no Pool with spec.default: true"


@pytest.mark.parametrize(("value", "words"), WARNED, ids=[value for value, _ in WARNED])
def test_the_notes_warn_of_an_unwise_value_and_of_nothing_else(value: str, words: str) -> None:
    said = notes(*WISE, value)
    assert f"WARNING: {words}" in said
    assert said.count("WARNING") == 2  # there is no Pool yet, either


@pytest.mark.parametrize(("values", "words"), UNUSED, ids=str)
def test_the_notes_name_a_value_of_which_another_makes_nothing(
    values: tuple[str, ...], words: str
) -> None:
    assert f"WARNING: {words}" in notes(*WISE, *values)
    assert words not in notes(*WISE, values[1])
    assert notes(*WISE, *values).count("WARNING") == 3  # of the other value, and of no Pool


@pytest.mark.parametrize(
    "values",
    [
        (),
        ("webhook.enabled=false",),
        ("mutation=Webhook", "webhook.replicas=1"),
        ("mutation=Policy", "operator.replicas=0", "webhook.podDisruptionBudget=false"),
        ("operator.replicas=1", "webhook.replicas=1"),
    ],
    ids=str,
)
def test_without_enforcement_the_notes_say_of_no_job_that_it_waits(values: tuple[str, ...]) -> None:
    """Nor that it is refused: all of them start when they are created, and one warning says so."""
    said = notes("policies.enforce=false", *values)
    assert "Jobs with a tenant start when they are created" in said
    assert "--reset-then-reuse-values --set policies.enforce=true" in said
    assert [words for words in WORDS_OF_ENFORCEMENT if words in said] == []
    assert "is set aside, once policies.enforce is true." in said
    assert said.count("WARNING") == 2
    enforced = notes(*values)
    assert [words for words in WORDS_OF_ENFORCEMENT if words in enforced] != []
    assert "is set aside." in enforced


def test_the_notes_have_the_emergency_exit_of_the_documentation() -> None:
    [command] = re.findall(r"^kubectl delete -l .+$", notes(*WISE), re.MULTILINE)
    assert command in (CHART.parents[1] / "docs" / "policies.md").read_text()
    assert "kubectl delete" not in notes(*WISE, "policies.enforce=false")


def test_the_notes_end_with_the_next_commands() -> None:
    said = notes(*WISE)
    assert said.count("WARNING") == 1
    assert NO_POOL in said
    assert said.index("kubectl apply -f -") < said.index("kubectl get kwicket")
    assert said.strip().endswith("helm test kwicket --namespace kwicket-system")


def test_the_notes_say_who_may_read_the_metrics() -> None:
    assert "8081" not in notes(*WISE)
    assert "on port 8081 of each pod, for the pods of a, b." in notes(
        *WISE, "metrics.enabled=true", "metrics.namespaces={a,b}"
    )
    assert "who may talk to Kwicket's pods and read their metrics," in notes(
        *WISE, "metrics.enabled=true", "networkPolicy.enabled=false"
    )


def test_the_notes_say_who_suspends_new_jobs() -> None:
    assert "are suspended by a policy of the API server" in notes(*WISE)
    assert "are suspended by the webhook; while it is down they are refused" in notes(
        "mutation=Webhook"
    )
    assert "refused unless its manifest says suspend: true" in notes("webhook.enabled=false")
