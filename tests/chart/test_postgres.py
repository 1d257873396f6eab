"""What the chart makes where clusters share a PostgreSQL, and nothing of it elsewhere."""

from support.chart import Object, needs_helm, refusal, rendered

pytestmark = needs_helm

SECRET = ("ledger.postgres.secret=shared", "ledger.postgres.cluster=east")
URL = ("ledger.postgres.url=postgresql://east@db/kwicket", "ledger.postgres.cluster=east")


def operator(*values: str) -> Object:
    """The pod of the operator."""
    [found] = [
        one["spec"]["template"]["spec"]
        for one in rendered(*values)
        if one["kind"] == "Deployment" and one["metadata"]["name"] == "kwicket"
    ]
    pod: Object = found
    return pod


def named(name: str, kind: str, *values: str) -> list[Object]:
    found = (one for one in rendered(*values) if one["kind"] == kind)
    return [one for one in found if one["metadata"]["name"] == name]


def test_without_it_the_operator_is_told_nothing() -> None:
    pod = operator()
    assert "volumes" not in pod
    assert not [word for word in pod["containers"][0]["args"] if "postgres" in word]
    assert not named("kwicket-postgres", "NetworkPolicy")


def test_the_url_is_read_from_a_file_of_a_secret() -> None:
    pod = operator(*SECRET)
    [volume] = pod["volumes"]
    [mount] = pod["containers"][0]["volumeMounts"]
    assert volume["secret"]["secretName"] == "shared"
    assert {"--postgres=/etc/kwicket/postgres/url", "--cluster=east"} < {
        *pod["containers"][0]["args"]
    }
    assert mount == {"name": "postgres", "mountPath": "/etc/kwicket/postgres", "readOnly": True}
    assert not named("kwicket-postgres", "Secret", *SECRET)


def test_a_url_among_the_values_becomes_a_secret() -> None:
    [secret] = named("kwicket-postgres", "Secret", *URL)
    assert secret["stringData"] == {"url": "postgresql://east@db/kwicket"}
    assert operator(*URL)["volumes"][0]["secret"]["secretName"] == "kwicket-postgres"


def test_a_url_and_a_secret_are_too_much() -> None:
    assert "'/ledger/postgres'" in refusal(*URL, "ledger.postgres.secret=shared")


def test_a_lapse_is_passed_on_only_if_there_is_one() -> None:
    lapse = (*SECRET, "ledger.postgres.clusterLapse=900")
    assert "--cluster-lapse=900" in operator(*lapse)["containers"][0]["args"]
    args = operator(*SECRET)["containers"][0]["args"]
    assert not [word for word in args if word.startswith("--cluster-lapse")]


def test_the_days_of_the_history_are_passed_on() -> None:
    assert "--history-days=30" in operator(*SECRET)["containers"][0]["args"]
    longer = (*SECRET, "ledger.postgres.historyDays=400")
    assert "--history-days=400" in operator(*longer)["containers"][0]["args"]


def test_the_operator_alone_may_connect_to_the_database_and_look_up_its_name() -> None:
    values = ("ledger.postgres.ports[0]=6432", "ledger.postgres.cidrs[0]=10.0.0.0/8")
    [policy] = named("kwicket-postgres", "NetworkPolicy", *SECRET, *values)
    assert policy["spec"]["egress"] == [
        {
            "ports": [{"port": 6432, "protocol": "TCP"}],
            "to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}],
        },
        {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]},
    ]
    selected = policy["spec"]["podSelector"]["matchLabels"]
    assert selected["app.kubernetes.io/name"] == "kwicket"
