"""Metrics in the chart: nothing of them unless they are asked for, and then for few to read."""

from typing import Any

import yaml

from support.chart import (
    NAMESPACE,
    RELEASE,
    Object,
    helm,
    named,
    needs_helm,
    pod_specs,
    rendered,
)

pytestmark = needs_helm

ON = ("metrics.enabled=true",)
MONITORED = (*ON, "metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor.force=true")
DEPLOYMENTS = ("kwicket", "kwicket-webhook")


def added(*values: str) -> set[tuple[str, str]]:
    """The objects that these values add."""

    def objects(*values: str) -> set[tuple[str, str]]:
        return {(made["kind"], made["metadata"]["name"]) for made in rendered(*values)}

    assert objects() <= objects(*values)
    return objects(*values) - objects()


def container(name: str, *values: str) -> Object:
    [spec] = (spec for maker, spec in pod_specs(rendered(*values)) if maker == f"Deployment/{name}")
    found: Object = spec["containers"][0]
    return found


def labels_of_pods(name: str, *values: str) -> dict[str, str]:
    template = named(rendered(*values), "Deployment", name)["spec"]["template"]
    found: dict[str, str] = template["metadata"]["labels"]
    return found


def test_by_default_nothing_of_them_is_there() -> None:
    for name in DEPLOYMENTS:
        assert not any("metrics" in word for word in container(name)["args"])
        assert 8081 not in [port["containerPort"] for port in container(name)["ports"]]


def test_enabled_they_bring_a_port_a_service_each_and_one_network_rule() -> None:
    services = {("Service", f"{name}-metrics") for name in DEPLOYMENTS}
    assert added(*ON) == services | {("NetworkPolicy", "kwicket-metrics")}
    for name in DEPLOYMENTS:
        assert {"name": "metrics", "containerPort": 8081} in container(name, *ON)["ports"]
        assert "0.0.0.0:8081" in " ".join(container(name, *ON)["args"])
        service = named(rendered(*ON), "Service", f"{name}-metrics")["spec"]
        assert service["ports"] == [{"name": "metrics", "port": 8081, "targetPort": "metrics"}]
        assert service["clusterIP"] == "None"
        selected = {
            other
            for other in DEPLOYMENTS
            if service["selector"].items() <= labels_of_pods(other, *ON).items()
        }
        assert selected == {name}


def test_without_a_webhook_there_is_none_of_it() -> None:
    objects = rendered(*ON, "webhook.enabled=false")
    names = {made["metadata"]["name"] for made in objects if made["kind"] == "Service"}
    assert names == {"kwicket-metrics"}
    [name] = scraped(objects)["podSelector"]["matchExpressions"]
    assert name["values"] == ["kwicket"]


def scraped(objects: tuple[Object, ...]) -> Any:
    return named(objects, "NetworkPolicy", "kwicket-metrics")["spec"]


def test_only_pods_of_the_named_namespaces_reach_the_port_and_no_other() -> None:
    spec = scraped(rendered(*ON, "metrics.namespaces={a,b}"))
    assert spec["policyTypes"] == ["Ingress"]
    [rule] = spec["ingress"]
    assert rule["ports"] == [{"port": 8081, "protocol": "TCP"}]
    [peer] = rule["from"]
    assert peer.keys() == {"namespaceSelector"}
    [expression] = peer["namespaceSelector"]["matchExpressions"]
    assert expression == {
        "key": "kubernetes.io/metadata.name",
        "operator": "In",
        "values": ["a", "b"],
    }
    [names] = spec["podSelector"]["matchExpressions"]
    assert tuple(names["values"]) == DEPLOYMENTS
    for name in DEPLOYMENTS:
        labels = labels_of_pods(name, *ON)
        assert spec["podSelector"]["matchLabels"].items() <= labels.items()
        assert labels[names["key"]] == name


def test_the_other_network_rules_stay_as_they_are() -> None:
    for name in DEPLOYMENTS:
        before, after = (named(rendered(*v), "NetworkPolicy", name)["spec"] for v in ((), ON))
        assert before == after


def test_without_network_rules_there_is_none_for_metrics() -> None:
    kinds = {made["kind"] for made in rendered(*ON, "networkPolicy.enabled=false")}
    assert "NetworkPolicy" not in kinds


def test_a_service_monitor_selects_the_services_of_metrics_and_no_others() -> None:
    objects = rendered(*MONITORED, "metrics.serviceMonitor.labels.release=prometheus")
    monitor = named(objects, "ServiceMonitor")
    assert monitor["metadata"]["namespace"] == NAMESPACE
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    services = [made for made in objects if made["kind"] == "Service"]
    chosen = [made for made in services if wanted <= made["metadata"]["labels"].items()]
    assert {made["metadata"]["name"] for made in chosen} == {f"{n}-metrics" for n in DEPLOYMENTS}
    [endpoint] = monitor["spec"]["endpoints"]
    for made in chosen:
        assert endpoint["port"] in [port["name"] for port in made["spec"]["ports"]]


def test_a_service_monitor_comes_where_the_api_server_serves_it() -> None:
    served = ("--api-versions", "monitoring.coreos.com/v1/ServiceMonitor")
    asked = "metrics.enabled=true,metrics.serviceMonitor.enabled=true"
    answer = helm("template", *RELEASE, "--set", asked, *served)
    assert answer.returncode == 0, answer.stderr
    kinds = [made["kind"] for made in yaml.safe_load_all(answer.stdout) if made]
    assert kinds.count("ServiceMonitor") == 1
    unasked = helm("template", *RELEASE, "--set", "metrics.enabled=true", *served)
    assert "ServiceMonitor" not in unasked.stdout
