"""The chart that was there before becomes this one, and goes, while Jobs run and wait.

`charts/kwicket-first.tgz` is `helm package charts/kwicket` of commit 180193d: one operator, no
webhook.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from e2e import homes, load, operators, release
from e2e.objects import appearance, start, token_of
from e2e.plane import Plane
from e2e.plane.api import Api, Object
from e2e.release import NOTHING_RUNS, RELEASE, Kubeconfig
from e2e.serving import ChartWebhook
from e2e.tools import Tool, tools

BEFORE = Path(__file__).parent / "charts" / "kwicket-first.tgz"
POOL = "upgraded"


class Site(NamedTuple):
    """Where the chart is upgraded."""

    kubeconfig: Kubeconfig
    helm: Tool
    kubectl: Tool
    version: str


@pytest.fixture(params=["now", "1.34"])
def before(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    """The first chart on the session's cluster, or on a plane as of 1.34; gone afterwards."""
    if request.param == "now":
        kubeconfig, helm, kubectl = map(request.getfixturevalue, ("kubeconfig", "helm", "kubectl"))
    else:
        older: Plane = request.getfixturevalue("older")
        kubeconfig, (helm, kubectl) = older.kubeconfig, tools(older, tmp_path)
    if release.is_installed(helm):
        pytest.skip("Kwicket is installed here, and this test would take it away")
    release.install(helm, kubeconfig, "operator.replicas=0", chart=BEFORE)
    yield Site(kubeconfig, helm, kubectl, request.param)
    if release.is_installed(helm):
        release.uninstall(helm, kubeconfig)


@pytest.fixture
def home(before: Site) -> Iterator[str]:
    """A namespace there."""
    with homes.home(before.kubeconfig) as name:
        yield name


@contextmanager
def upgraded(site: Site, folder: Path) -> Iterator[None]:
    """This chart; below 1.36 with its webhook, which suspends what is new."""
    upgrade = ("upgrade", *RELEASE, "--reset-then-reuse-values", "--set")
    if site.version == "now":
        site.helm(*upgrade, ",".join(NOTHING_RUNS))
        yield
        return
    site.helm(*upgrade, "operator.replicas=0,webhook.replicas=1")
    webhook = ChartWebhook(site.kubeconfig, site.kubectl, folder)
    release.await_force(site.kubeconfig, webhook=True)
    yield
    webhook.end()


def waits_for(file: Path) -> list[str]:
    """A command that ends well once `file` is there."""
    return ["sh", "-c", f"touch {file}.began; until [ -e {file} ]; do sleep 0.05; done"]


def is_granted(job: Object | None) -> bool:
    return job is not None and token_of(job) > 0 and not job["spec"]["suspend"]


def is_complete(job: Object | None) -> bool:
    conditions = (job or {}).get("status", {}).get("conditions", [])
    return any(c["type"] == "Complete" and c["status"] == "True" for c in conditions)


@pytest.mark.timeout(180)
async def test_jobs_that_run_and_wait_do_not_notice_an_upgrade_or_the_end(
    before: Site, home: str, tmp_path: Path
) -> None:
    kubeconfig, jobs = before.kubeconfig, load.jobs_path(home)
    account = kubeconfig("kwicket-system/kwicket")
    async with (
        Api.open(kubeconfig("admin")) as api,
        Api.open(kubeconfig("alice")) as alice,
        Api.open(account) as operator,
    ):
        await api.until(f"/api/v1/namespaces/{home}/serviceaccounts/default", bool)
        await load.make_pool(api, POOL, limit=1)
        for name in ("runs", "waits"):
            job = load.labelled_job(name, "alice", waits_for(tmp_path / name), pool=POOL)
            job["spec"]["suspend"] = True
            await api.create(jobs, job)
        await operator.patch(f"{jobs}/runs", start("1"))
        runs = await api.until(f"{jobs}/runs", is_granted)
        await appearance(tmp_path / "runs.began")
        with upgraded(before, tmp_path):
            [pod], _ = await api.list(f"/api/v1/namespaces/{home}/pods")
            assert runs is not None
            assert pod["status"]["phase"] == "Running"
            assert token_of(await api.get(f"{jobs}/runs")) == token_of(runs)
            tried = await alice.patch(f"{jobs}/waits", {"spec": {"suspend": False}})
            assert tried["spec"]["suspend"] is True
            with operators.running(account, tmp_path / "after.log"):
                (tmp_path / "runs").touch()
                waited = await api.until(f"{jobs}/waits", is_granted)
                await appearance(tmp_path / "waits.began")
            assert waited is not None
            assert token_of(waited) > token_of(runs)
            # 403 alone is in many a stamp
            assert "HTTP 403" not in (tmp_path / "after.log").read_text()
            release.uninstall(before.helm, kubeconfig)
            (tmp_path / "waits").touch()
            assert await api.until(f"{jobs}/waits", is_complete)
        await load.drop_pool(api, POOL)


@pytest.mark.parametrize("before", ["now"], indirect=True)
async def test_values_of_the_first_chart_alone_are_refused_and_nothing_changes(
    before: Site,
) -> None:
    """`--reuse-values` brings the old chart's defaults along, which lack what is new."""
    answer = before.helm("upgrade", *RELEASE, "--reuse-values", check=False)
    assert answer.returncode != 0
    assert "missing properties" in answer.stderr
    assert "'webhook'" in answer.stderr
    deployments = before.kubectl("get", "deployments", "-n", "kwicket-system", "-o", "name").stdout
    assert deployments == "deployment.apps/kwicket\n"
