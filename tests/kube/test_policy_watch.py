"""The watch over the policies: what it tells after each reading, whatever the answers."""

import copy
from typing import Any

import pytest
import yaml

from kwicket.kube import policy_watch as module
from kwicket.kube.client import Client
from kwicket.kube.policy_watch import PolicyWatch
from kwicket.ports.enforcement import IN_FORCE, Enforcement
from support.api_server import ADMISSION, CONFIG_MAPS, DEFINITIONS, GUARDS, ApiServer
from support.malformed import MALFORMED
from support.policies import bodies, install, path_of, stored

POLICIES = f"{ADMISSION}/validatingadmissionpolicies"
BINDINGS = f"{ADMISSION}/validatingadmissionpolicybindings"
EXPECTED = "/api/v1/namespaces/kwicket-system/configmaps/kwicket-policies"


class Watch(PolicyWatch):
    """Keeps what was told last."""

    def __init__(self, client: Client) -> None:
        self.told: list[Enforcement] = []
        super().__init__(client, "kwicket-system", self.told.append)

    async def last(self) -> Enforcement:
        """What is told after one more reading."""
        await self.read()
        return self.told[-1]


@pytest.fixture
def watch(client: Client, api: ApiServer) -> Watch:
    install(api)
    return Watch(client)


async def test_the_policies_of_the_chart_are_in_force(watch: Watch) -> None:
    assert await watch.last() == IN_FORCE


async def test_a_binding_that_is_gone_is_named_with_the_way_out(
    api: ApiServer, watch: Watch
) -> None:
    api.delete(BINDINGS, "kwicket-guard")
    told = await watch.last()
    assert told.reason == "PolicyMissing"
    assert told.message.startswith("ValidatingAdmissionPolicyBinding kwicket-guard is missing: run")
    assert "helm upgrade" in told.message
    assert len(told.message) < 1024


async def test_what_was_put_back_is_in_force_again(api: ApiServer, watch: Watch) -> None:
    guard = api.objects[POLICIES]["", "kwicket-guard"]
    api.delete(POLICIES, "kwicket-guard")
    assert not (await watch.last()).in_force
    api.put(POLICIES, guard)
    assert await watch.last() == IN_FORCE


def make_older(api: ApiServer) -> dict[str, Any]:
    """Takes a field out of the definition of Pools; the definition as it was."""
    newest: dict[str, Any] = api.objects[DEFINITIONS]["", "pools.kwicket.dev"]
    older = copy.deepcopy(newest)
    schema = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    del schema["properties"]["spec"]["properties"]["paused"]
    api.put(DEFINITIONS, older)
    return newest


async def test_a_definition_that_is_older_than_this_version_is_named_with_the_way_out(
    api: ApiServer, watch: Watch
) -> None:
    newest = make_older(api)
    told = await watch.last()
    assert told.reason == "DefinitionsOutdated"
    why = "pools.kwicket.dev does not know .spec.paused, which the API server would drop: run helm"
    assert why in told.message
    assert not told.in_force
    api.put(DEFINITIONS, newest)
    assert await watch.last() == IN_FORCE


async def test_policies_are_judged_while_a_definition_is_older_and_both_are_said(
    api: ApiServer, watch: Watch
) -> None:
    """As the condition of the policies, which would otherwise say that none is missing."""
    newest, guard = make_older(api), api.objects[BINDINGS]["", "kwicket-guard"]
    api.delete(BINDINGS, "kwicket-guard")
    told = await watch.last()
    assert told.reason == "PolicyMissing"
    assert "ValidatingAdmissionPolicyBinding kwicket-guard is missing: run helm" in told.message
    assert "pools.kwicket.dev does not know .spec.paused, which the API" in told.message
    assert len(told.message) < 1024
    api.put(BINDINGS, guard)
    assert (await watch.last()).reason == "DefinitionsOutdated"
    switch_off(api)
    told = await watch.last()
    assert told.reason == "EnforcementOff"
    assert "does not know .spec.paused" in told.message
    api.put(DEFINITIONS, newest)
    assert "does not know" not in (await watch.last()).message


async def test_a_definition_that_is_missing_is_not_said_to_drop_fields(
    api: ApiServer, watch: Watch
) -> None:
    del api.objects[DEFINITIONS]["", "pools.kwicket.dev"]
    told = await watch.last()
    assert told.reason == "DefinitionsOutdated"
    assert "pools.kwicket.dev is missing: run helm upgrade" in told.message
    assert "drop" not in told.message


async def test_of_many_only_some_are_named(api: ApiServer, watch: Watch) -> None:
    for path in GUARDS:
        api.objects[path].clear()
    told = await watch.last()
    assert told.message.count(" is missing") == module.MOST_NAMED
    assert f"; and {len(bodies()) - module.MOST_NAMED} more: run helm upgrade" in told.message


async def test_a_chart_without_policies_has_switched_enforcement_off(
    api: ApiServer, watch: Watch
) -> None:
    config = api.objects[CONFIG_MAPS]["kwicket-system", "kwicket-policies"]
    api.put(CONFIG_MAPS, config | {"data": dict.fromkeys(config["data"], "\n")})
    told = await watch.last()
    assert told.reason == "EnforcementOff"
    assert not told.in_force


def switch_off(api: ApiServer) -> list[dict[str, Any]]:
    """What `policies.enforce=false` leaves; the bindings that are gone."""
    config = api.objects[CONFIG_MAPS]["kwicket-system", "kwicket-policies"]
    api.put(CONFIG_MAPS, config | {"data": config["data"] | {"enforce": "false"}})
    bindings = [body for body in bodies() if body["kind"].endswith("Binding")]
    for body in bindings:
        api.delete(path_of(body), body["metadata"]["name"])
    return bindings


async def test_what_the_values_have_switched_off_is_in_force_once_all_bindings_are_back(
    api: ApiServer, watch: Watch
) -> None:
    """As by the emergency exit's way back, which knows nothing of values."""
    bindings = switch_off(api)
    assert (await watch.last()).reason == "EnforcementOff"
    for body in bindings:
        assert (await watch.last()).reason == "EnforcementOff"
        api.put(path_of(body), stored(body))
    assert await watch.last() == IN_FORCE


async def test_what_is_no_policy_in_the_config_map_is_not_read_as_one(
    api: ApiServer, watch: Watch
) -> None:
    config = api.objects[CONFIG_MAPS]["kwicket-system", "kwicket-policies"]
    more = {"enforce": "true", "registrations": "{unclosed"}
    api.put(CONFIG_MAPS, config | {"data": config["data"] | more})
    assert await watch.last() == IN_FORCE


async def test_a_server_without_mutating_policies_needs_none_where_the_chart_has_none(
    api: ApiServer, watch: Watch
) -> None:
    for path in GUARDS:
        if "mutating" in path:
            del api.objects[path]
    assert "MutatingAdmissionPolicy kwicket-hold is missing" in (await watch.last()).message
    config = api.objects[CONFIG_MAPS]["kwicket-system", "kwicket-policies"]
    api.put(CONFIG_MAPS, config | {"data": config["data"] | {"hold.yaml": "\n"}})
    assert await watch.last() == IN_FORCE


async def test_an_upgrade_changes_both_and_is_in_force(api: ApiServer, watch: Watch) -> None:
    assert await watch.last() == IN_FORCE
    config = api.objects[CONFIG_MAPS]["kwicket-system", "kwicket-policies"]
    newer = config["data"]["tenants.yaml"].replace("[CREATE, UPDATE]", "[CREATE]")
    api.put(CONFIG_MAPS, config | {"data": config["data"] | {"tenants.yaml": newer}})
    assert "kwicket-tenants was changed" in (await watch.last()).message
    for body in bodies():
        if body["kind"] == "ValidatingAdmissionPolicy" and "tenants" in body["metadata"]["name"]:
            body["spec"]["matchConstraints"]["resourceRules"][0]["operations"] = ["CREATE"]
            api.put(path_of(body), stored(body))
    assert await watch.last() == IN_FORCE


@pytest.mark.parametrize("what", ["unclosed", "with-an-empty-spec", "spec-1", "metadata.name-2"])
async def test_what_it_should_be_must_be_understood(
    api: ApiServer, watch: Watch, what: str
) -> None:
    """Beside all that is as it should be; and put right, it is in force again."""
    config = api.objects[CONFIG_MAPS]["kwicket-system", "kwicket-policies"]
    api.put(CONFIG_MAPS, config | {"data": config["data"] | {"more.yaml": MALFORMED[what]}})
    told = await watch.last()
    assert told.reason == "PolicyMissing"
    assert "ConfigMap kwicket-system/kwicket-policies" in told.message
    assert "is not understood" in told.message
    assert "run helm upgrade" in told.message
    api.put(CONFIG_MAPS, config)
    assert await watch.last() == IN_FORCE


@pytest.mark.parametrize("data", [None, [], [1], "x", 1, {"guard.yaml": 1}, {"guard.yaml": None}])
async def test_what_is_no_config_map_is_not_in_force(
    api: ApiServer, watch: Watch, data: Any
) -> None:
    config = api.objects[CONFIG_MAPS]["kwicket-system", "kwicket-policies"]
    api.put(CONFIG_MAPS, config | {"data": data})
    assert not (await watch.last()).in_force


@pytest.mark.parametrize("version", ["", "..", "../../api/v1", "a b", "a?b#c", "//x", "ä\n", "%2e"])
async def test_a_policy_of_a_group_that_there_is_not_is_missing(
    api: ApiServer, watch: Watch, version: str
) -> None:
    config = api.objects[CONFIG_MAPS]["kwicket-system", "kwicket-policies"]
    body = {"apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "x"}}
    more = yaml.safe_dump(body | {"spec": {"variables": [1]}})
    api.put(CONFIG_MAPS, config | {"data": config["data"] | {"more.yaml": more}})
    assert (await watch.last()).reason == "PolicyMissing"


async def test_without_what_it_should_be_it_says_which_object_is_missing(
    api: ApiServer, watch: Watch
) -> None:
    api.delete(CONFIG_MAPS, "kwicket-policies", "kwicket-system")
    told = await watch.last()
    assert "ConfigMap kwicket-system/kwicket-policies" in told.message


async def test_an_operator_that_may_not_read_them_grants_nothing_and_says_why(
    api: ApiServer, watch: Watch
) -> None:
    api.fail(f"{POLICIES}/kwicket-guard", 403, times=1)
    told = await watch.last()
    assert told.reason == "NotRead"
    assert "kwicket-guard: HTTP 403 as scripted" in told.message


async def test_an_api_server_that_is_away_for_a_moment_changes_nothing(
    api: ApiServer, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await watch.last() == IN_FORCE
    api.fail(EXPECTED, 503, times=2)
    assert await watch.last() == IN_FORCE
    monkeypatch.setattr(module, "PATIENCE", 0)
    assert (await watch.last()).reason == "NotRead"
    assert await watch.last() == IN_FORCE
