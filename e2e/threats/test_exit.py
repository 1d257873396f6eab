"""The emergency exit: enforcement off and on, by kubectl and by Helm, as docs/policies.md says."""

import asyncio
import os
import re
import subprocess
from pathlib import Path

import pytest

from e2e.objects import TOKEN
from e2e.plane.api import Api, Object
from e2e.release import CHART
from e2e.threats.world import World, in_pool, is_over, jobs, refusal

TEXT = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
EXIT = TEXT.partition("## The emergency exit")[2]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", EXIT, re.MULTILINE | re.DOTALL)
KUBECTL_OFF, KUBECTL_ON = BLOCKS[0], BLOCKS[1]
HELM_OFF, HELM_ON = BLOCKS[2].splitlines()
WAYS = [
    (KUBECTL_OFF, KUBECTL_ON),
    (HELM_OFF, HELM_ON),
    (KUBECTL_OFF, HELM_ON),
    (HELM_OFF, KUBECTL_ON),
]
IDS = ["kubectl", "helm", "off-by-kubectl-on-by-helm", "off-by-helm-on-by-kubectl"]


def run(world: World, command: str, programs: Path) -> None:
    """As an administrator would, in a shell."""
    path = f"{programs}:{os.environ['PATH']}"
    told = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        env=os.environ | {"PATH": path, "KUBECONFIG": str(world.kubeconfig("admin"))},
        cwd=CHART.parents[1],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert told.returncode == 0, told.stdout + told.stderr


def switch_on(world: World, command: str, programs: Path) -> None:
    """And what the Job that comes with it does where a webhook is to be trusted again."""
    with world.following():
        run(world, command, programs)


async def until_granted(world: World, alice: Api, pool: str) -> None:
    """A Job of the Pool runs by a grant, if there is an operator."""
    if not world.running:
        return
    wanted = in_pool(pool, world.job())
    where = await world.submit(alice, wanted)
    await is_over(alice, where)
    assert TOKEN in (await alice.get(where))["metadata"]["annotations"]


async def until_enforced(world: World, alice: Api, wanted: bool) -> None:
    """Policies begin and cease to act a moment after their bindings are there or gone."""
    empty, kueue = world.job(), world.job()
    empty["metadata"]["labels"]["kwicket.dev/pool"] = ""
    kueue["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "main"
    async with asyncio.timeout(20):
        for probe in (empty, kueue):
            while await _refuses(world, alice, probe) is not wanted:  # noqa: ASYNC110 - nothing tells when
                await asyncio.sleep(0.1)
        held = world.job(suspend=False)
        while await _runs(world, alice, held) is wanted:  # noqa: ASYNC110 - nothing tells when
            await asyncio.sleep(0.1)
        while await _refuses(world, alice, world.job()):  # noqa: ASYNC110 - nothing tells when
            await asyncio.sleep(0.1)


async def _refuses(world: World, alice: Api, wanted: Object) -> bool:
    return bool(await refusal(alice, jobs(world.home), wanted, dryRun="All"))


async def _runs(world: World, alice: Api, wanted: Object) -> bool:
    if await refusal(alice, jobs(world.home), wanted, dryRun="All"):
        return False
    made = await alice.create(jobs(world.home), wanted, dryRun="All")
    return not made["spec"]["suspend"]


@pytest.mark.parametrize(("off", "on"), WAYS, ids=IDS)
async def test_jobs_then_behave_as_if_kwicket_were_absent(
    world: World, alice: Api, pool: str, programs: Path, off: str, on: str
) -> None:
    """What waits is its author's to start, what is new starts at once, and neither is fought; on
    again, an operator that runs grants.
    """
    waiting = await world.submit(alice)
    run(world, off, programs)
    await until_enforced(world, alice, False)
    labelled, free = world.job(suspend=False), world.job(None, suspend=False)
    specs = []
    for wanted in (labelled, free):
        made = await alice.create(jobs(world.home), wanted)
        del made["spec"]["selector"], made["spec"]["template"]["metadata"]
        specs.append(made["spec"])
    assert specs[0] == specs[1]
    await alice.patch(waiting, {"spec": {"suspend": False}})
    for where in (waiting, jobs(world.home, labelled["metadata"]["name"])):
        await is_over(alice, where)
    switch_on(world, on, programs)
    await until_enforced(world, alice, True)
    await until_granted(world, alice, pool)


async def test_helm_takes_over_what_kubectl_made(world: World, alice: Api, programs: Path) -> None:
    """Also where the values say that it is off."""
    run(world, HELM_OFF, programs)
    switch_on(world, KUBECTL_ON, programs)
    for on in (HELM_ON, KUBECTL_ON):
        switch_on(world, on, programs)
        await until_enforced(world, alice, True)
