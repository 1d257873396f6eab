"""One history of all clusters: names that differ, an order that is one, and who holds what."""

from typing import Any

import pytest

from faults.checks.capacity import capacity
from faults.checks.replay import Cluster
from faults.checks.tokens import tokens
from faults.options import START, Options
from faults.process import Clock
from faults.run import Record
from faults.server import TOKEN
from faults.shared.database import Database
from faults.shared.merge import merged
from faults.store import JOBS, LIMITS, Body, Store, Versions, changed
from kwicket.core.state import State
from kwicket_storage.clusters import Cluster as Named
from kwicket_storage.shared_memory import SharedMemoryLedger
from support.builders import intent

NAMES = ("east", "west")


class Story:
    """Two clusters with a Job `x` each, whose UIDs are the same, and their database."""

    def __init__(self) -> None:
        versions = Versions()
        self.stores = {name: Store(START, versions) for name in NAMES}
        self.database = Database(Clock(START, 0), versions)
        for name in NAMES:
            self.limit(name, 1)
            metadata: Body = {"name": "x", "namespace": "team"}
            metadata["labels"] = {"kwicket.dev/tenant": "alice"}
            spec = {"suspend": True, "parallelism": 1, "completions": 1}
            body = {"metadata": metadata, "spec": spec, "status": {}}
            self.stores[name].put(JOBS, body)

    def limit(self, cluster: str, most: int) -> None:
        """An administrator says so in one cluster."""
        spec = {"pool": "pool", "concurrency": {"jobs": most}}
        self.stores[cluster].put(LIMITS, {"metadata": {"name": "jobs"}, "spec": spec})

    async def commit(self, decider: str, token: int, cluster: str) -> None:
        """An operator of a cluster grants the Job of another one, or its own."""
        ledger = SharedMemoryLedger(self.database, Named(decider))
        uid = self.uid(cluster)
        named = uid if decider == cluster else f"{cluster}/{uid}"
        state = State(token, intents=(intent("x", token=token, uid=named),))
        page = await ledger.read("pool")
        await (ledger.open("pool", state) if page is None else ledger.commit(page, state))
        self.database.note(f"{decider}/a.1", self.stores[decider].version)

    def start(self, cluster: str, token: int) -> None:
        """An operator writes a grant on its Job."""
        self.change(cluster, metadata={"annotations": {TOKEN: str(token)}}, spec={"suspend": False})

    def end(self, cluster: str) -> None:
        """The Job says that it is complete."""
        self.change(cluster, status={"conditions": [{"type": "Complete", "status": "True"}]})

    def change(self, cluster: str, **parts: Any) -> None:
        """Somebody changes the Job."""
        job = self.stores[cluster].get(JOBS, ("team", "x"))
        assert job is not None
        self.stores[cluster].put(JOBS, changed(job.body, **parts), f"{cluster}/a.1")

    def uid(self, cluster: str) -> str:
        job = self.stores[cluster].get(JOBS, ("team", "x"))
        assert job is not None
        return str(job.body["metadata"]["uid"])

    def record(self) -> Record:
        record = Record(Options(seed=1, jobs=1), quiet=True)
        stored = {name: store.changes for name, store in self.stores.items()}
        record.changes = merged(stored, self.database.changes)
        return record


@pytest.fixture
async def story() -> Story:
    return Story()


async def test_jobs_of_one_name_and_uid_are_two(story: Story) -> None:
    assert story.uid("east") == story.uid("west")
    cluster = Cluster()
    for change in story.record().changes:
        cluster.apply(change)
    assert sorted(cluster.jobs) == [f"east/{story.uid('east')}", f"west/{story.uid('west')}"]


async def test_i1_a_limit_is_one_over_all_clusters(story: Story) -> None:
    await story.commit("east", 11, "east")
    story.start("east", 11)
    await story.commit("east", 12, "west")
    story.start("west", 12)
    assert len(capacity(story.record())) == 1


async def test_i1_what_has_ended_in_one_cluster_is_free_in_the_other(story: Story) -> None:
    await story.commit("east", 11, "east")
    story.start("east", 11)
    story.end("east")
    await story.commit("east", 12, "west")
    story.start("west", 12)
    assert capacity(story.record()) == []


@pytest.mark.parametrize(("decider", "bad"), [("east", 1), ("west", 0)])
async def test_i1_whoever_decides_goes_by_its_own_clusters_declaration(
    story: Story, decider: str, bad: int
) -> None:
    story.limit("west", 2)
    await story.commit("east", 11, "east")
    story.start("east", 11)
    await story.commit(decider, 12, "west")
    story.start("west", 12)
    assert len(capacity(story.record())) == bad


async def test_i1_a_cluster_that_lapsed_holds_no_slot(story: Story) -> None:
    await story.commit("east", 11, "east")
    story.start("east", 11)
    story.database.lapsed("pool", "east", "west/a.1")
    await story.commit("west", 12, "west")
    story.start("west", 12)
    assert capacity(story.record()) == []


async def test_i3_a_token_that_a_failover_lost_may_be_given_again_if_no_job_has_it(
    story: Story,
) -> None:
    await story.commit("east", 11, "east")
    copy = story.database.copy()
    await story.commit("east", 12, "west")
    story.database.fail_over(copy)
    await story.commit("west", 12, "west")
    assert tokens(story.record()) == []


async def test_i3_a_token_that_a_job_has_is_not_given_again_after_a_failover(story: Story) -> None:
    await story.commit("east", 11, "east")
    copy = story.database.copy()
    await story.commit("east", 12, "west")
    story.start("west", 12)
    story.database.fail_over(copy)
    await story.commit("west", 12, "west")
    assert len(tokens(story.record())) == 1


async def test_i3_a_page_that_is_put_back_gives_no_token_again(story: Story) -> None:
    await story.commit("east", 11, "east")
    story.start("east", 11)
    story.database.fail_over(story.database.copy())
    await story.commit("west", 12, "west")
    assert tokens(story.record()) == []
