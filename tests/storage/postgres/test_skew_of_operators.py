"""Row 7 of the fault matrix: two clusters' operators at work while one version follows another.

Nothing is older in fact: the later version is today's with a migration more, or one that keeps
something more in a page.
"""

from collections.abc import AsyncIterator

import pytest

from kwicket.ports.ledger import Conflict, Page
from kwicket_storage import schema
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.migrations import MAJOR, migrations
from kwicket_storage.schema import migrate
from support.builders import catalog, job_seen, jobs, pool
from support.databases import Database
from support.later import CONTRACTS, EXPANDS, LaterPostgresLedger
from support.postgres_world import PostgresWorld

MOST, EACH = 2, 8
"""The limit, and the Jobs of a cluster."""
pytestmark = pytest.mark.timeout(180)
"""What is granted to a cluster that stands back holds its slot for a minute."""
type Worlds = tuple[PostgresWorld, PostgresWorld]


@pytest.fixture
async def worlds(empty: Database) -> AsyncIterator[Worlds]:
    """East and west, whose operators share the limit; Jobs wait in both."""
    await migrate(empty.url)
    async with (
        PostgresWorld.at(empty.url, "east") as east,
        PostgresWorld.at(empty.url, "west") as west,
    ):
        for world, tenant in ((east, "alice"), (west, "bob")):
            world.catalog = catalog(pool(), jobs(MOST))
            world.api.create(*[job_seen(f"x-{n}", tenant) for n in range(EACH)])
            await world.replica()
        for world in (east, west):
            await says(world, "Serving", "")
        yield east, west


def running(worlds: Worlds) -> list[tuple[PostgresWorld, str]]:
    """All that runs; never more than the limit."""
    found = [(world, name) for world in worlds for name in world.started()]
    assert len(found) <= MOST
    return found


async def end(worlds: Worlds, *among: PostgresWorld, count: int = 1) -> None:
    """So many Jobs of these clusters end, one after the other, as soon as one runs there."""
    for _ in range(count):
        await worlds[0].until(lambda: any(one in among for one, _ in running(worlds)))
        longest = [one for one in running(worlds) if one[0] in among]
        world, name = min(longest, key=lambda one: one[0].job(one[1]).token or 0)
        world.api.change(name, ended=True)


async def all_end(worlds: Worlds) -> None:
    """Each Job has run once, and the tokens of each cluster have risen."""
    left = [job for world in worlds for job in world.api.jobs.values() if not job.ended]
    await end(worlds, *worlds, count=len(left))
    given = [tokens(world) for world in worlds]
    assert all(one == sorted(one) for one in given)
    assert len({token for one in given for token in one}) == 2 * EACH


def tokens(world: PostgresWorld) -> list[int]:
    return [order.token for order in world.api.written]


async def says(world: PostgresWorld, reason: str, words: str) -> None:
    """Its Pool comes to say this."""

    def said() -> bool:
        shown = world.replicas[-1].notices.pools.get("pool")
        return shown is not None and shown[1][0].reason == reason and words in shown[1][0].message

    await world.until(said, seconds=20)


async def upgraded(world: PostgresWorld) -> None:
    """Its operator is ended, and one of today's version begins."""
    await world.replicas[-1].crash()
    await world.replica()


async def keeps_more(database: Database) -> None:
    """The later version writes the page, whoever has granted last."""
    connections = Connections(database.url)
    try:
        later = LaterPostgresLedger(connections, Cluster("west"))
        written: Page | Conflict = Conflict()
        while isinstance(written, Conflict):
            page = await later.read("pool")
            assert page is not None
            written = await later.commit(page, page.state)
    finally:
        await connections.close()


async def version(database: Database) -> int:
    """The highest token given, whatever has become of it."""
    [row] = await database.told(
        "SELECT (state ->> 'version')::bigint AS version FROM kwicket.pools"
    )
    found: int = row["version"]
    return found


async def test_07_operators_work_on_at_once_while_the_schema_is_expanded(
    worlds: Worlds, empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    east, west = worlds
    await end(worlds, *worlds, count=4)
    before = len(tokens(east)), len(tokens(west))
    monkeypatch.setattr(schema, "migrations", lambda: (*migrations(), EXPANDS))
    assert await migrate(empty.url) == (EXPANDS,)
    await end(worlds, *worlds, count=2)
    await upgraded(west)
    await end(worlds, *worlds, count=6)
    assert len(tokens(east)) > before[0]
    assert len(tokens(west)) > before[1]
    await all_end(worlds)


async def test_07_an_operator_stands_back_from_a_page_of_a_later_version_until_it_is_upgraded(
    worlds: Worlds, empty: Database
) -> None:
    """What runs in its cluster holds its slots, and frees them for the others."""
    east, west = worlds
    await end(worlds, *worlds, count=2)
    west.ledgers = LaterPostgresLedger
    await upgraded(west)
    await keeps_more(empty)
    await says(east, "LedgerNotUnderstood", "upgrade this one")
    known = tokens(east)
    while east.started():
        await end(worlds, east)
    await end(worlds, west, count=2)
    assert tokens(east) == known
    east.ledgers = LaterPostgresLedger
    await upgraded(east)
    await all_end(worlds)


async def test_07_operators_at_work_refuse_the_schema_of_the_next_major_version_at_once(
    worlds: Worlds, empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though their connections were made before, and they know the newest page."""
    await end(worlds, *worlds, count=2)
    await worlds[0].until(lambda: len(running(worlds)) == MOST)
    known = await version(empty)
    with monkeypatch.context() as patched:
        patched.setattr(schema, "migrations", lambda: (*migrations(), CONTRACTS))
        assert await migrate(empty.url) == (CONTRACTS,)
    await end(worlds, *worlds)
    for world in worlds:
        await says(world, "LedgerUnavailable", f"this Kwicket knows {MAJOR}: install a newer")
    assert await version(empty) == known
    monkeypatch.setattr("kwicket_storage.migrations.MAJOR", MAJOR + 1)
    for world in worlds:
        await upgraded(world)
    await all_end(worlds)
