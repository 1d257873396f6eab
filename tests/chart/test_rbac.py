"""Every right that the chart gives is in docs/rbac.md with its reason, and none beside."""

import re
from collections.abc import Iterator

from support.chart import ROOT, named, needs_helm, rendered

pytestmark = needs_helm

PAGE = (ROOT / "docs" / "rbac.md").read_text()
ROW = re.compile(r"\| ([\w.]*) ?\| ([^|]+) \| ([a-z, ]+) \| (.+) \|")

type Right = tuple[str, str, str, str]
"""A role's name, a group, a resource with the name it is limited to, a verb."""


def documented() -> Iterator[tuple[Right, str]]:
    """Each right and its reason."""
    for section in PAGE.split("\n## ")[1:]:
        [role] = re.findall(r"`(kwicket[\w-]*)`", section.splitlines()[0])
        for group, resource, verbs, reason in ROW.findall(section):
            for verb in verbs.split(", "):
                if verb != "verb":
                    yield (role, group.strip(), resource.replace("`", ""), verb), reason


def given(value: str = "mutation=Webhook") -> Iterator[Right]:
    for made in rendered(value):
        if made["kind"] in ("Role", "ClusterRole"):
            for rule in made["rules"]:
                assert rule.keys() <= {"apiGroups", "resources", "resourceNames", "verbs"}
                only = "".join(f" {name}" for name in rule.get("resourceNames", []))
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        for verb in rule["verbs"]:
                            yield made["metadata"]["name"], group, resource + only, verb


def test_the_page_names_every_right_that_the_chart_gives_and_no_other() -> None:
    older, newer = list(given()), list(given("mutation=Policy"))
    assert {right for right, _ in documented()} == {*older, *newer}
    assert len(list(documented())) == len({*older, *newer})
    assert len(set(older)) == len(older)
    assert len(set(newer)) == len(newer)


def test_the_policies_that_change_jobs_are_read_only_where_there_are_any() -> None:
    more = set(given("mutation=Policy")) - set(given())
    group = "admissionregistration.k8s.io"
    assert more == {
        ("kwicket", group, "mutatingadmissionpolicies", "get"),
        ("kwicket", group, "mutatingadmissionpolicybindings", "get"),
    }


def test_what_the_webhook_needs_to_change_jobs_is_not_given_where_a_policy_does_it() -> None:
    less = set(given()) - set(given("mutation=Policy"))
    assert less == {
        ("kwicket-webhook", "authorization.k8s.io", "subjectaccessreviews", "create"),
        (
            "kwicket-certificates",
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations kwicket",
            "patch",
        ),
    }


def test_each_right_has_a_reason() -> None:
    assert all(len(reason.split()) > 2 for _, reason in documented())


def test_nobody_has_everything_or_reads_the_secrets_of_others() -> None:
    for role, group, resource, verb in given():
        assert "*" not in (group, resource, verb)
        assert not resource.startswith("secrets") or resource.startswith("secrets kwicket-")
        assert "pods/exec" not in resource
        assert (resource, verb) != ("pods", "create")
        assert "delete" not in verb or role == "kwicket-admin"


def test_rights_in_one_namespace_are_the_releases() -> None:
    for made in rendered():
        if made["kind"] in ("Role", "RoleBinding"):
            assert made["metadata"]["namespace"] == "kwicket-system"


def test_every_service_account_is_bound_to_its_own_roles_and_nobody_else_is() -> None:
    bindings = [
        made for made in rendered() if made["kind"] in ("RoleBinding", "ClusterRoleBinding")
    ]
    for binding in bindings:
        [subject] = binding["subjects"]
        assert subject["kind"] == "ServiceAccount"
        assert subject["name"] == binding["roleRef"]["name"] == binding["metadata"]["name"]
        assert named(rendered(), "ServiceAccount", subject["name"])
    bound = {binding["metadata"]["name"] for binding in bindings}
    assert bound == {"kwicket", "kwicket-webhook", "kwicket-certificates", "kwicket-test"}


def test_lookers_see_pools_by_the_view_role_of_kubernetes() -> None:
    labels = named(rendered(), "ClusterRole", "kwicket-view")["metadata"]["labels"]
    assert labels["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
