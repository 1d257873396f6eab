"""The chart that was there before becomes this one, and goes, while Jobs run and wait.

`charts/kwicket-first.tgz` is `helm package charts/kwicket` of commit 180193d: one operator, no
webhook.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import load, operators, release
from e2e.objects import appearance, start, token_of
from e2e.plane.api import Api, Object
from e2e.release import NOTHING_RUNS, RELEASE, Kubeconfig
from e2e.tools import Tool

BEFORE = Path(__file__).parent / "charts" / "kwicket-first.tgz"
POOL = "upgraded"


@pytest.fixture
def before(helm: Tool, kubeconfig: Kubeconfig) -> Iterator[None]:
    """The first chart, gone afterwards."""
    if release.is_installed(helm):
        pytest.skip("Kwicket is installed here, and this test would take it away")
    release.install(helm, kubeconfig, "operator.replicas=0", chart=BEFORE)
    yield
    if release.is_installed(helm):
        release.uninstall(helm, kubeconfig)


def waits_for(file: Path) -> list[str]:
    """A command that ends well once `file` is there."""
    return ["sh", "-c", f"touch {file}.began; until [ -e {file} ]; do sleep 0.05; done"]


def is_granted(job: Object | None) -> bool:
    return job is not None and token_of(job) > 0 and not job["spec"]["suspend"]


def is_complete(job: Object | None) -> bool:
    conditions = (job or {}).get("status", {}).get("conditions", [])
    return any(c["type"] == "Complete" and c["status"] == "True" for c in conditions)


@pytest.mark.timeout(180)
@pytest.mark.usefixtures("before")
async def test_jobs_that_run_and_wait_do_not_notice_an_upgrade_or_the_end(
    helm: Tool, kubeconfig: Kubeconfig, api: Api, namespace: str, tmp_path: Path
) -> None:
    jobs, pods = load.jobs_path(namespace), f"/api/v1/namespaces/{namespace}/pods"
    await load.make_pool(api, POOL, limit=1)
    for name in ("runs", "waits"):
        command = waits_for(tmp_path / name)
        await api.create(jobs, load.labelled_job(name, "alice", command, pool=POOL))
    account = kubeconfig("kwicket-system/kwicket")
    async with Api.open(account) as operator:
        await operator.patch(f"{jobs}/runs", start("1"))
    runs = await api.until(f"{jobs}/runs", is_granted)
    await appearance(tmp_path / "runs.began")
    helm("upgrade", *RELEASE, "--reset-then-reuse-values", "--set", ",".join(NOTHING_RUNS))
    [pod], _ = await api.list(pods)
    assert runs is not None
    assert pod["status"]["phase"] == "Running"
    assert token_of(await api.get(f"{jobs}/runs")) == token_of(runs)
    async with Api.open(kubeconfig("alice")) as alice:
        tried = await alice.patch(f"{jobs}/waits", {"spec": {"suspend": False}})
    assert tried["spec"]["suspend"] is True
    with operators.running(account, tmp_path / "after.log"):
        (tmp_path / "runs").touch()
        waited = await api.until(f"{jobs}/waits", is_granted)
        await appearance(tmp_path / "waits.began")
    assert waited is not None
    assert token_of(waited) > token_of(runs)
    assert "HTTP 403" not in (tmp_path / "after.log").read_text()  # 403 alone is in many a stamp
    release.uninstall(helm, kubeconfig)
    (tmp_path / "waits").touch()
    assert await api.until(f"{jobs}/waits", is_complete)
    await load.drop_pool(api, POOL)


@pytest.mark.usefixtures("before")
async def test_values_of_the_first_chart_alone_are_refused_and_nothing_changes(
    helm: Tool, kubectl: Tool
) -> None:
    """`--reuse-values` brings the old chart's defaults along, which lack what is new."""
    answer = helm("upgrade", *RELEASE, "--reuse-values", check=False)
    assert answer.returncode != 0
    assert "missing properties" in answer.stderr
    assert "'webhook'" in answer.stderr
    deployments = kubectl("get", "deployments", "-n", "kwicket-system", "-o", "name").stdout
    assert deployments == "deployment.apps/kwicket\n"
