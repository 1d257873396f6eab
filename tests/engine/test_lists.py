"""A recovery has lists that were begun after the page was read, and no more than it needs."""

from kwicket.ports.ledger import Page
from support.builders import job_seen
from support.fakes import FlakyLedger
from support.world import Replica, World


def recovered(replica: Replica) -> bool:
    desk = replica.engine.registry.desk("pool")
    return desk is not None and desk.page is not None


async def test_the_first_list_serves_who_takes_over_if_nobody_wrote_since_before_it(
    world: World,
) -> None:
    world.api.create(job_seen("x-1"))
    first = await world.replica()
    await world.moment(2)
    await first.crash()
    follower = await world.replica(leads=False)
    assert follower.cluster.relists == 1
    follower.leadership.lead()
    await world.until(lambda: recovered(follower))
    assert follower.cluster.relists == 1


async def test_the_first_list_serves_who_leads_from_its_start(world: World) -> None:
    world.api.create(job_seen("x-1"))
    first = await world.replica()
    await world.moment(2)
    await first.crash()
    second = await world.replica()
    await world.until(lambda: recovered(second))
    assert second.cluster.relists == 1


async def test_who_takes_over_lists_again_if_somebody_wrote_since_the_first_list(
    world: World,
) -> None:
    first = await world.replica()
    follower = await world.replica(leads=False)
    world.api.create(job_seen("x-1"))
    await world.moment(2)
    await first.crash()
    follower.leadership.lead()
    await world.until(lambda: recovered(follower))
    assert follower.cluster.relists == 2


async def test_who_could_not_read_the_page_before_the_first_list_lists_again(world: World) -> None:
    first = await world.replica()
    await first.crash()
    ledger = FlakyLedger(world.ledger)
    ledger.down = True
    follower = await world.replica(ledger, leads=False)
    ledger.down = False
    follower.leadership.lead()
    await world.until(lambda: recovered(follower))
    assert follower.cluster.relists == 2


class Blind(FlakyLedger):
    """Reads nothing at first: the page is opened by somebody else right afterwards."""

    reads = 0

    async def read(self, pool: str) -> Page | None:
        self.reads += 1
        return None if self.reads <= 2 else await super().read(pool)


async def test_who_finds_that_somebody_else_has_opened_the_ledger_lists_again(
    world: World,
) -> None:
    """A grant may have left that page since the lists."""
    first = await world.replica()
    await first.crash()
    follower = await world.replica(Blind(world.ledger))
    await world.until(lambda: recovered(follower))
    assert follower.cluster.relists == 3


async def test_the_first_list_serves_once(world: World) -> None:
    """Whoever reads a page again does so since something went wrong."""
    first = await world.replica()
    await first.crash()
    follower = await world.replica(leads=False)
    for lists in (1, 2):
        follower.leadership.lead()
        await world.until(lambda: recovered(follower))
        assert follower.cluster.relists == lists
        follower.leadership.follow()
        await world.until(lambda: not recovered(follower))
