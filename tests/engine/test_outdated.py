"""An operator that is too old for what a newer one keeps in its pool's ledger."""

import json

import pytest

from kwicket import __version__
from kwicket.core.reasons import Reason, sentence
from kwicket.engine.sharing import BEAT
from kwicket.engine.turn import STANDS_BACK
from kwicket.ports.ledger import Page, PageError
from kwicket.ports.notices import Condition
from kwicket_storage.backlog import START_DEADLINE
from kwicket_storage.clusters import Cluster
from kwicket_storage.kubernetes import PATH, KubernetesLedger
from kwicket_storage.shared_memory import SharedMemory, SharedMemoryLedger
from support.builders import catalog, job_seen, jobs, pool
from support.clusters import ClusterWorld
from support.objects import FakeObjects
from support.world import Replica, World

LEDGER = f"{PATH}/pool"
WORDS = (
    f"Kwicket {__version__} does not understand this ledger: Object contains unknown field"
    " `borrowed`. It leaves it as it is, and grants nothing: if a newer Kwicket wrote it, upgrade"
    " this one"
)


class OldLedger(SharedMemoryLedger):
    """Of an operator for which the page may be too new."""

    outdated = False

    async def read(self, pool: str) -> Page | None:
        if self.outdated:
            raise PageError(WORDS)
        return await super().read(pool)


def ready(replica: Replica) -> Condition:
    return replica.notices.pools["pool"][1][0]


async def test_a_rollback_leaves_a_newer_ledger_as_it_is_grants_nothing_and_says_so(
    world: World,
) -> None:
    objects = FakeObjects()
    newer = await world.replica(KubernetesLedger(objects))
    world.api.create(job_seen("x-1"))
    await world.until(lambda: world.started() == ["x-1"])
    await world.moment(2)
    await newer.crash()
    body = json.loads(objects.bodies[LEDGER])
    understood = body["spec"]
    objects.bodies[LEDGER] = json.dumps(body | {"spec": understood | {"borrowed": [1]}})
    kept = objects.bodies[LEDGER]
    older = await world.replica(KubernetesLedger(objects))
    world.api.create(job_seen("x-2"))
    world.api.change("x-1", ended=True)
    await world.moment(90)
    assert (world.started(), objects.bodies[LEDGER]) == ([], kept)
    said = ready(older)
    assert (said.true, said.reason, said.message) == (False, "LedgerNotUnderstood", WORDS)
    assert older.number("kwicket_ledger_up", pool="pool") == 0
    queued = older.notices.of(Reason.QUEUED)[-1].sentence
    assert queued.endswith(sentence(Reason.LEDGER_NOT_UNDERSTOOD, pool="pool", why=WORDS))
    await older.crash()
    objects.bodies[LEDGER] = json.dumps(json.loads(kept) | {"spec": understood})
    await world.replica(KubernetesLedger(objects))
    await world.until(lambda: world.started() == ["x-2"])


@pytest.fixture
def old(memory: SharedMemory) -> OldLedger:
    return OldLedger(memory, Cluster("east"))


async def test_the_jobs_of_a_cluster_that_is_outdated_take_no_slot_of_the_others(
    east: ClusterWorld, west: ClusterWorld, old: OldLedger
) -> None:
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(1))
    east.shelf()
    replica = await east.replica(old)
    await west.replica()
    old.outdated = True
    await east.moment(15)
    east.api.create(job_seen("x", "alice"))
    await east.moment(15)
    assert ready(replica).reason == "LedgerNotUnderstood"
    west.api.create(job_seen("y-1", "bob"), job_seen("y-2", "bob"))
    await west.until(lambda: west.started() == ["y-1"], seconds=2)
    west.api.change("y-1", ended=True)
    await west.until(lambda: west.started() == ["y-2"], seconds=2)
    west.api.change("y-2", ended=True)
    await west.moment(5)
    assert east.started() == []
    old.outdated = False
    await east.until(lambda: east.started() == ["x"], seconds=60)


async def test_what_runs_in_a_cluster_that_is_outdated_holds_its_slot_until_it_ends(
    east: ClusterWorld, west: ClusterWorld, old: OldLedger
) -> None:
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(1))
    east.shelf()
    replica = await east.replica(old)
    await west.replica()
    east.api.create(job_seen("x", "alice"))
    await east.until(lambda: east.started() == ["x"])
    old.outdated = True
    west.api.create(job_seen("y", "bob"))
    await west.moment(BEAT)
    relists = replica.cluster.relists
    await west.moment(2 * START_DEADLINE)
    assert west.started() == []
    assert replica.cluster.relists - relists <= 2 * START_DEADLINE / (STANDS_BACK * BEAT)
    east.api.change("x", ended=True)
    await west.until(lambda: west.started() == ["y"], seconds=10)
