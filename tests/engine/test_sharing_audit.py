"""A book that is made anew while other clusters are told of it."""

from collections.abc import Callable

from kwicket.core.book import Book
from kwicket.core.state import State
from kwicket.ports.backlog import Freed, News
from kwicket_storage.shared_memory import SharedMemoryBacklog
from support.builders import catalog, job_seen, jobs, pool
from support.clusters import ClusterWorld


async def test_a_slot_that_a_new_book_lacks_for_now_is_not_told_to_be_over(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    """As an audit makes it, whose sweep has not come to the Job yet."""
    then: list[Callable[[], None]] = []
    over: list[Freed] = []

    class Followed(SharedMemoryBacklog):
        async def tell(self, pool: str, news: News, highest: int) -> None:
            await super().tell(pool, news, highest)
            over.extend(news.over)
            while then:
                then.pop()()

    for world in (east, west):
        world.catalog = catalog(pool(), jobs(1))
    west.backlogs = Followed
    replica = await west.replica()
    await east.replica()
    west.api.create(job_seen("y", "bob"))
    await west.until(lambda: west.started() == ["y"])
    await west.moment(2)
    [desk] = replica.engine.registry.desks()

    def made_anew() -> None:
        assert desk.share is not None
        desk.page = None
        desk.book = Book(desk.book.rules, State(1), west.clock.now())
        replica.engine.intake.evict(desk)
        desk.share.touch(["y"], desk.book, west.clock.now())
        desk.wake()

    then.append(made_anew)
    east.api.create(job_seen("x", "alice"))
    west.api.create(job_seen("z", "bob"))
    await west.moment(30)
    assert (then, over) == ([], [])
    assert (west.started(), east.started()) == (["y"], [])
