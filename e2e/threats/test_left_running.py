"""What still runs of a time without enforcement: it is suspended, and starts again in its turn."""

import contextlib

from e2e.objects import TOKEN
from e2e.plane.api import Api, Object
from e2e.threats.test_left_over import enforce
from e2e.threats.world import RUNNING, World, is_over, its_pods

FENCED = {"fieldRef": {"fieldPath": f"metadata.annotations['{TOKEN}']"}}


def waits_for_a_token(world: World, pool: str) -> Object:
    """A Job whose pods end by themselves only if they were given a token."""
    wanted = world.manifest("alice", suspend=False)
    wanted["metadata"]["labels"]["kwicket.dev/pool"] = pool
    spec = wanted["spec"]["template"]["spec"]
    spec["terminationGracePeriodSeconds"] = 1
    spec["containers"][0] |= {
        "command": ["sh", "-c", 'test "$KWICKET_TOKEN" || sleep 1000'],
        "env": [{"name": "KWICKET_TOKEN", "valueFrom": FENCED}],
    }
    return wanted


@RUNNING
async def test_a_stray_starts_again_with_a_token_in_its_pods(
    world: World, alice: Api, pool: str
) -> None:
    """Also up to Kubernetes 1.35, where the template of a Job that ran is closed."""
    enforce(world, False)
    with contextlib.ExitStack() as stack:
        stack.callback(enforce, world, True)
        where = await world.submit(alice, waits_for_a_token(world, pool))
        [first] = await its_pods(alice, where)
    await is_over(alice, where)
    stray = await alice.get(where)
    assert stray["metadata"]["annotations"]["kwicket.dev/deliveries"] == "2"
    pods = await alice.list(
        f"/api/v1/namespaces/{world.home}/pods",
        labelSelector=f"job-name={stray['metadata']['name']}",
    )
    [again] = [pod for pod in pods[0] if pod["metadata"]["name"] != first["metadata"]["name"]]
    assert again["metadata"]["annotations"][TOKEN] == stray["metadata"]["annotations"][TOKEN]
    await alice.delete(where, {"propagationPolicy": "Background"})
