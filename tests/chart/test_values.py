"""Values that mean nothing are refused, in words that name the value; notes warn of unwise ones."""

import pytest

from support.chart import CHART, helm, needs_helm, notes, refusal

pytestmark = needs_helm

SENSELESS = [
    ("operator.replica=1", "'/operator': additional properties 'replica' not allowed"),
    ("operator.replicas=4", "'/operator/replicas': maximum: got 4, want 3"),
    ("operator.replicas=many", "'/operator/replicas': got string, want integer"),
    ("operator.logLevel=loud", "'/operator/logLevel': value must be one of"),
    ("operator.resources.limit.cpu=1", "'/operator/resources': additional properties 'limit'"),
    ("operator.image.tag=1", "'/operator': additional properties 'image' not allowed"),
    ("webhook.replicas=0", "'/webhook/replicas': minimum: got 0, want 1"),
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
]


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
]
NO_POOL = "WARNING: there is no Pool with spec.default: true"


@pytest.mark.parametrize(("value", "words"), WARNED, ids=[value for value, _ in WARNED])
def test_the_notes_warn_of_an_unwise_value_and_of_nothing_else(value: str, words: str) -> None:
    said = notes(*WISE, value)
    assert f"WARNING: {words}" in said
    assert said.count("WARNING") == 2  # there is no Pool yet, either


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
