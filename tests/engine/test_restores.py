"""A cluster that goes back to an older backup: noticed, stopped, and gone on with by a word.

Row 21 of the fault matrix, as far as a replica lives through the restore.
"""

from msgspec.structs import replace

from kwicket.core.reasons import Reason
from kwicket.core.state import State
from kwicket.engine.census import Census
from kwicket.ports.ledger import Conflict, Ledger, Page
from kwicket.ports.notices import Condition
from support.builders import catalog, intent, job_seen, jobs, pool
from support.fakes import Backup, FakeNotices, FlakyLedger
from support.world import Replica, World

SOON = 2.5


class Restored:
    """A world whose x-1 was granted after the backup, while x-2 waits."""

    def __init__(self, world: World, replica: Replica, backup: Backup, page: State) -> None:
        self.world, self.replica, self._backup, self._page = world, replica, backup, page
        self.given = world.job("x-1").token or 0

    @classmethod
    async def granted_since(cls, world: World, ledger: Ledger | None = None) -> "Restored":
        replica = await world.replica(ledger)
        world.api.create(job_seen("old", suspended=False, token=5, granted_pool="pool"))
        await world.moment(SOON)
        backup, page = Backup(world.api), await world.page()
        world.api.change("old", ended=True)
        world.api.create(job_seen("x-1"), job_seen("x-2"))
        await world.moment(SOON)
        assert world.started() == ["x-1"]
        return cls(world, replica, backup, page)

    async def restore(self, page: State | None = None, bump: int = 0) -> None:
        """And x-1 and x-2 are submitted again, as their author does."""
        self.world.api.restore(self._backup, bump=bump)
        self.world.ledger.remove("pool")
        await self.world.ledger.open("pool", page or self._page)
        self.world.api.create(job_seen("x-1"), job_seen("x-2"))
        await self.replica.cluster.relist()
        await self.world.moment(SOON)

    async def word(self, above: int) -> None:
        await self.world.declare(catalog(pool(above=above), jobs(1)))
        await self.world.moment(SOON)


class OpensLate(FlakyLedger):
    """Somebody else opens the Ledger first, grants x-1, and then the cluster goes back."""

    def __init__(self, world: World) -> None:
        super().__init__(world.ledger)
        self._world = world

    async def open(self, pool: str, state: State) -> Page | Conflict:
        token = state.version + 1
        await super().open(pool, State(token, intents=(intent("x-1", token=token),)))
        self._world.replicas[0].engine.went_back()
        return Conflict()


def ready(notices: FakeNotices) -> Condition:
    return notices.pools["pool"][1][0]


async def test_nothing_is_granted_and_the_pool_says_why_and_how_to_go_on(world: World) -> None:
    restored = await Restored.granted_since(world)
    await restored.restore()
    world.api.change("old", ended=True)
    await world.moment(120)
    assert world.started() == []
    condition = ready(restored.replica.notices)
    assert (condition.true, condition.reason) == (False, "WentBack")
    assert f"from before token {restored.given}" in condition.message
    above = int(condition.message.rpartition("kwicket.dev/go-on-above=")[2])
    assert above > restored.given
    figures, _ = restored.replica.notices.pools["pool"]
    assert figures.token == restored.given
    assert restored.replica.notices.of(Reason.QUEUED)[-1].sentence.endswith(condition.message)

    await restored.word(above)
    assert world.started() == ["x-1"]
    assert world.job("x-1").token == above + 1
    assert ready(restored.replica.notices).true
    assert (await world.page()).version > above


async def test_a_pool_in_doubt_whose_ledger_is_down_says_first_that_it_is_down(
    world: World,
) -> None:
    """A reader who is told that the cluster went back is told the way out in the same sentence."""
    ledger = FlakyLedger(world.ledger)
    restored = await Restored.granted_since(world, ledger)
    ledger.down = True
    await restored.restore()
    condition = ready(restored.replica.notices)
    assert (condition.reason, condition.message) == ("LedgerUnavailable", "the ledger is down")
    told = restored.replica.notices.of(Reason.QUEUED)[-1].sentence
    assert told.endswith("can't be read: the ledger is down")
    ledger.down = False
    await world.until(lambda: ready(restored.replica.notices).reason == "WentBack")
    assert "kwicket.dev/go-on-above=" in ready(restored.replica.notices).message


async def test_a_word_that_is_too_low_lets_nothing_go_on(world: World) -> None:
    """Not even where the pool's own ledger did not go back."""
    restored = await Restored.granted_since(world)
    await restored.restore(await world.page())
    world.api.change("old", ended=True)
    await restored.word(restored.given)
    assert world.started() == []


async def test_a_word_that_is_too_high_to_be_believed_is_none_and_the_pool_says_so(
    world: World,
) -> None:
    """No token can be above it; the tokens that were given are not given twice for that."""
    restored = await Restored.granted_since(world)
    await restored.restore()
    world.api.change("old", ended=True)
    await restored.word(10**17)
    assert world.started() == []
    assert f"{10**17} is too high to be believed" in ready(restored.replica.notices).message
    above = (await world.page()).version + 1000
    await restored.word(above)
    assert world.job("x-1").token == above + 1


async def test_a_ledger_that_went_back_is_noticed_for_all_words_that_are_not_believed(
    world: World,
) -> None:
    restored = await Restored.granted_since(world)
    await restored.word(10**17)
    page = await world.page()
    world.ledger.remove("pool")
    await world.ledger.open("pool", replace(page, version=restored.given - 1, intents=()))
    world.api.change("x-1", ended=True)
    await world.moment(SOON)
    assert world.started() == []
    condition = ready(restored.replica.notices)
    assert condition.reason == "WentBack"
    assert f"{10**17} is too high to be believed" in condition.message


async def test_tokens_on_jobs_are_passed_over_though_the_word_is_not_believed(
    world: World,
) -> None:
    await world.ledger.open("pool", State(1000))
    world.catalog = catalog(pool(above=10**17), jobs(1))
    world.api.create(job_seen("r-1", suspended=False, ended=True, token=2000, granted_pool="pool"))
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    await world.moment(SOON)
    assert ready(replica.notices).message.endswith(f"{10**17} is too high to be believed")
    assert (world.job("x-1").token or 0) > 2000


async def test_a_word_counts_for_one_restore_only(world: World) -> None:
    restored = await Restored.granted_since(world)
    await restored.restore()
    world.api.change("old", ended=True)
    await restored.word(restored.given + 100)
    assert world.started() == ["x-1"]
    await restored.restore(await world.page())
    world.api.change("old", ended=True)
    await world.moment(SOON)
    assert world.started() == []


async def test_a_job_that_is_older_than_it_was_known_is_believed_to_be_as_listed(
    world: World,
) -> None:
    """`old` runs again, though a newer version of it, that has ended, was seen."""
    restored = await Restored.granted_since(world)
    await restored.restore()
    await restored.word(restored.given + 100)
    assert world.started() == ["old"]
    world.api.change("old", ended=True)
    await world.moment()
    assert world.started() == ["x-1"]


async def test_a_restore_that_raises_the_revision_is_noticed_by_the_jobs(world: World) -> None:
    """As etcdutl does it with --bump-revision: lists look newer, the objects in them older."""
    restored = await Restored.granted_since(world)
    page = await world.page()
    await restored.restore(page, bump=1_000_000)
    world.api.change("old", ended=True)
    await world.moment(SOON)
    assert world.started() == []
    assert ready(restored.replica.notices).reason == "WentBack"


async def test_a_ledger_that_went_back_is_noticed_where_no_list_did(world: World) -> None:
    restored = await Restored.granted_since(world)
    page = await world.page()
    world.ledger.remove("pool")
    await world.ledger.open("pool", replace(page, version=restored.given - 1, intents=()))
    world.api.change("x-1", ended=True)
    await world.moment(SOON)
    assert world.started() == []
    assert ready(restored.replica.notices).reason == "WentBack"


async def test_a_follower_that_saw_it_stops_too_when_it_leads(world: World) -> None:
    restored = await Restored.granted_since(world)
    follower = await world.replica(leads=False)
    await restored.replica.crash()
    restored.replica = follower
    await restored.restore(await world.page())
    world.api.change("old", ended=True)
    follower.leadership.lead()
    await world.moment(SOON)
    assert world.started() == []
    await restored.word(restored.given + 100)
    assert world.started() == ["x-1"]


async def test_a_follower_that_saw_it_needs_no_word_once_another_has_had_it(world: World) -> None:
    restored = await Restored.granted_since(world)
    follower = await world.replica(leads=False)
    await restored.restore()
    await follower.cluster.relist()
    world.api.change("old", ended=True)
    await restored.word(restored.given + 100)
    assert world.started() == ["x-1"]
    follower.engine.registry.saw_token("pool", (await world.page()).version)
    await restored.replica.crash()
    follower.leadership.lead()
    world.api.change("x-1", ended=True)
    await world.moment(SOON)
    assert world.started() == ["x-2"]


async def test_a_new_replica_stops_by_the_token_that_the_status_shows(world: World) -> None:
    restored = await Restored.granted_since(world)
    await restored.restore()
    await restored.replica.crash()
    world.api.change("old", ended=True)
    fresh = await world.replica(leads=False)
    fresh.engine.registry.saw_token("pool", restored.given)
    fresh.leadership.lead()
    await world.moment(SOON)
    assert world.started() == []
    assert ready(fresh.notices).reason == "WentBack"


async def test_what_was_under_way_in_the_backup_is_granted_with_another_token(
    world: World,
) -> None:
    """Its own may have been used: x-2 is an intent of the backup, and x-1 came first."""
    restored = await Restored.granted_since(world)
    version = (await world.page()).version
    under_way = intent("x-2", token=version - 1)
    page = replace(await world.page(), version=version - 1, intents=(under_way,))
    await restored.restore(page)
    world.api.change("old", ended=True)
    await restored.word(version + 100)
    assert world.started() == ["x-1"]
    world.api.change("x-1", ended=True)
    await world.moment()
    assert world.job("x-2").token == version + 102


async def test_a_word_given_before_the_start_is_above_every_token_that_follows(
    world: World,
) -> None:
    """The way for an operator that did not live through the restore, and notices nothing."""
    await world.ledger.open("pool", State(1000))
    world.catalog = catalog(pool(above=5000), jobs(1))
    world.api.create(job_seen("x-1"))
    await world.replica()
    assert world.job("x-1").token == 5001


async def test_the_answer_to_a_write_is_newer_than_a_list_from_before_it(world: World) -> None:
    """Such a list is no restore: it was on its way while the grant was written."""
    world.api.create(job_seen("x-1"))
    before = world.api.jobs["x-1"]
    replica = await world.replica()
    started = world.job("x-1")
    replica.engine.listed_job(before, int(before.version))
    await world.moment(SOON)
    assert replica.engine.census.job("x-1") == started
    assert ready(replica.notices).reason == "Serving"


async def test_what_is_being_committed_when_it_is_noticed_is_the_last_grant(world: World) -> None:
    ledger = FlakyLedger(world.ledger)
    world.catalog = catalog(pool(), jobs(2))
    replica = await world.replica(ledger)
    ledger.answering.clear()
    world.api.create(job_seen("x-1"))
    await world.moment()
    replica.engine.went_back()
    ledger.answering.set()
    world.api.create(job_seen("x-2"))
    await world.moment(SOON)
    assert world.started() in ([], ["x-1"])
    assert ready(replica.notices).reason == "WentBack"


async def test_what_waits_for_an_answer_is_not_sent_again_while_the_ledger_is_down(
    world: World,
) -> None:
    """The ledger need not be read to know that the cluster went back."""
    ledger = FlakyLedger(world.ledger)
    replica = await world.replica(ledger)
    world.api.lose.extend(["before"] * 1000)
    world.api.create(job_seen("x-1"))
    await world.moment(SOON)
    ledger.down = True
    replica.engine.went_back()
    world.api.lose.clear()
    await world.moment(60)
    assert world.api.written == []
    ledger.down = False
    await world.moment(60)
    assert world.started() == []
    assert ready(replica.notices).reason == "WentBack"


async def test_what_the_ledger_takes_after_it_is_noticed_is_applied_no_more(world: World) -> None:
    ledger = FlakyLedger(world.ledger)
    replica = await world.replica(ledger)
    ledger.answering.clear()
    world.api.create(job_seen("x-1"))
    await world.moment()
    replica.engine.went_back()
    ledger.answering.set()
    await world.moment(SOON)
    assert world.api.orders == []
    assert ready(replica.notices).reason == "WentBack"
    above = (await world.page()).version + 1
    await world.declare(catalog(pool(above=above), jobs(1)))
    await world.moment(SOON)
    assert world.job("x-1").token == above + 1


async def test_what_the_ledger_takes_after_the_word_was_given_is_decided_anew(
    world: World,
) -> None:
    """The word came while the ledger was being told, after the cluster went back."""
    ledger = FlakyLedger(world.ledger)
    replica = await world.replica(ledger)
    ledger.answering.clear()
    world.api.create(job_seen("x-1"))
    await world.moment()
    above = (await world.page()).version + 1
    replica.engine.went_back()
    await world.declare(catalog(pool(above=above), jobs(1)))
    ledger.answering.set()
    await world.moment(SOON)
    assert [order.token for order in world.api.orders] == [above + 1]


async def test_a_ledger_that_is_opened_while_it_is_noticed_starts_nothing(world: World) -> None:
    world.api.create(job_seen("x-1"))
    replica = await world.replica(OpensLate(world))
    await world.moment(SOON)
    assert world.api.orders == []
    assert ready(replica.notices).reason == "WentBack"


async def test_a_status_shows_no_token_that_the_ledger_does_not_have(world: World) -> None:
    """Else a ledger that was never told would look as if it had gone back."""
    ledger = FlakyLedger(world.ledger)
    replica = await world.replica(ledger)
    ledger.answering.clear()
    before = (await world.page()).version
    world.api.create(job_seen("x-1"))
    await world.moment(SOON)
    figures, _ = replica.notices.pools["pool"]
    assert (figures.token, replica.engine.registry.token("pool")) == (before, before)
    assert (await world.page()).version == before + 1


async def test_a_job_is_read_before_it_is_written_if_it_was_not_seen_since_the_cluster_went_back(
    world: World,
) -> None:
    """The version that was known of it is another life's, and 0 would match any."""
    world.api.create(job_seen("x-1"))
    await world.ledger.open("pool", State(1000))
    world.catalog = catalog(pool(above=5000), jobs(1))
    replica = await world.replica(leads=False)
    relist = replica.cluster.relist

    async def notices_late() -> None:
        await relist()
        replica.cluster.deaf |= {"saw_job"}
        world.api.change("x-1", parallelism=1)
        replica.engine.went_back()

    replica.cluster.relist = notices_late  # type: ignore[method-assign]
    replica.leadership.lead()
    await world.moment()
    assert [order.token for order in world.api.orders] == [5001]
    assert world.started() == ["x-1"]


def test_a_job_of_a_former_life_is_taken_as_it_is_listed_whatever_its_version() -> None:
    census = Census()
    census.take_job(job_seen("x-1", version="20"))
    census.forget_versions()
    assert census.job("x-1") == job_seen("x-1", version="20")
    assert census.of_former_life("x-1")
    assert not census.contradicts(job_seen("x-1", version="10"), 30)
    assert census.take_job(job_seen("x-1", version="10"))
    assert not census.of_former_life("x-1")
    assert not census.take_job(job_seen("x-1", version="9"))
