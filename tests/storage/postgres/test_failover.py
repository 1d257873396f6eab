"""Rows 23 and 24 of the fault matrix: failover to a standby, which may lack the last commits."""

import asyncio

import pytest
from msgspec.structs import replace

from kwicket.core.state import State
from kwicket.ports.backlog import Claimed, News
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Page
from kwicket_storage import servers
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.listener import Listener
from kwicket_storage.memberships import Kept, Memberships, forgotten
from kwicket_storage.postgres import PostgresLedger
from kwicket_storage.servers import Servers
from support.backlog_contract import RULES, Share, foreign, granted, joined, opened
from support.builders import intent
from support.databases import until
from support.ears import Heard
from support.twins import Pair, Pairs, url

POOL = "licences"
SYNCHRONOUS = {"synchronous_standby_names": "standby"}
SETTING = "SELECT current_setting('default_transaction_read_only')"
ONE, TWO = intent("a-1", token=2), intent("a-2", token=3)


@pytest.fixture
async def synchronous(pairs: Pairs) -> Pair:
    both = pairs(SYNCHRONOUS)
    both.standby.start()
    return both


@pytest.fixture
async def behind(pairs: Pairs) -> Pair:
    """The standby does not hear of what is committed from now on."""
    return pairs({})


async def test_23_a_synchronous_standby_has_every_page_and_grant(synchronous: Pair) -> None:
    east = await joined(synchronous.share("east"), POOL)
    west = await joined(synchronous.share("west"), POOL)
    page = await opened(east, POOL, State(1))
    page = await granted(east, page, ONE)
    await east.backlog.tell(POOL, News(running=(ONE.lease,)), 2)
    page = await granted(east, page, ONE, TWO)
    tokens = "SELECT array_agg(token ORDER BY token) FROM kwicket.grants"
    assert await synchronous.told(tokens) == [2, 3]
    await synchronous.fail_over()
    await tell_anew(east, News(running=(ONE.lease,)), 3)
    await tell_anew(west, News(), 0)
    read = await east.ledger.read(POOL)
    assert read is not None
    assert read.state == page.state
    assert await synchronous.told(tokens, synchronous.standby) == [2, 3]
    assert await east.ledger.commit(page, State(4)) == Conflict()
    assert isinstance(await east.ledger.commit(read, State(4)), Page)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "end",
    [
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
    ],
    ids=["cancelled", "terminated"],
)
async def test_23_a_commit_whose_wait_for_the_standby_is_ended_is_no_success(
    synchronous: Pair, end: str
) -> None:
    """The server says that it committed, with a warning that the standby may not have it.

    Which it does not say to whom no warnings are to be said.
    """
    await synchronous.told("ALTER DATABASE postgres SET client_min_messages = error")
    east = synchronous.share("east")
    page = await opened(east, POOL, State(1))
    synchronous.standby.stop()
    commit = asyncio.create_task(east.ledger.commit(page, State(2)))
    await synchronous.until_a_commit_waits()
    await synchronous.told(end)
    with pytest.raises(UnavailableError):
        await commit


@pytest.mark.usefixtures("way")
async def test_23_a_commit_that_waits_too_long_for_the_standby_is_no_success(
    synchronous: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    east = synchronous.share("east")
    page = await opened(east, POOL, State(1))
    synchronous.standby.stop()
    with monkeypatch.context() as impatient:
        impatient.setattr(servers, "ANSWER", 1.0)
        await synchronous.connections.close()  # those that are open have more patience
        with pytest.raises(UnavailableError):
            await east.ledger.commit(page, State(2))
    await synchronous.fail_over()
    read = await east.ledger.read(POOL)
    assert read is not None
    assert read.state == State(1)


async def test_24_after_commits_were_lost_no_page_of_before_is_replaced(behind: Pair) -> None:
    """Not even one that the standby has: somebody may have acted on what was lost."""
    east = behind.share("east")
    page = await opened(east, POOL, State(1))
    await behind.copy()
    later = await granted(east, page, ONE)
    await behind.fail_over()
    for old in (page, later):
        assert await east.ledger.commit(old, State(9)) == Conflict()
        assert await east.backlog.claim(old, (2,)) == Claimed()
    read = await east.ledger.read(POOL)
    assert read is not None
    assert read.state == State(1)
    assert isinstance(await east.ledger.commit(read, State(9)), Page)


async def test_24_nobody_reads_a_page_until_all_have_told_again(behind: Pair) -> None:
    """Tokens go on rising over those that were lost: they pass over the present time at once, as
    nobody may know of the lost ones, also if what is heard is not taken in.
    """
    east = await joined(behind.share("east"), POOL)
    west = await joined(behind.share("west"), POOL)
    page = await opened(west, POOL, State(1))
    await behind.copy()
    await granted(west, page, replace(ONE, lease=foreign(ONE.lease)))
    await east.backlog.tell(POOL, News(running=(ONE.lease,)), 2)
    await behind.fail_over()
    assert not await east.backlog.beat(POOL, RULES)
    assert not await west.backlog.beat(POOL, RULES)
    with pytest.raises(UnavailableError, match="east must tell first"):
        await west.ledger.read(POOL)
    now = await behind.told("SELECT kwicket.now_ms()", behind.standby)
    assert (await west.backlog.hear(POOL, 0)).highest >= now
    await tell_anew(east, News(running=(ONE.lease,)), 2)
    assert isinstance(await west.ledger.read(POOL), Page)
    heard = await west.backlog.hear(POOL, 0)
    assert heard.highest >= now
    assert heard.running == (foreign(ONE.lease),)


async def test_24_who_tells_all_while_the_server_fails_over_has_not_told(behind: Pair) -> None:
    """A process that joined on the one server and tells the other one must join anew."""
    east, west = behind.share("east"), behind.share("west")
    await opened(west, POOL, State(1))
    await east.backlog.join(POOL, RULES)
    await behind.copy()
    await behind.fail_over()
    with pytest.raises(UnavailableError, match="changed meanwhile"):
        await east.backlog.tell_all(POOL, News(), 0)
    with pytest.raises(UnavailableError, match="east must tell first"):
        await west.ledger.read(POOL)
    await joined(east, POOL)
    assert isinstance(await west.ledger.read(POOL), Page)


async def test_24_who_has_moved_away_stops_nobody_after_a_failover(behind: Pair) -> None:
    """It had told all before, and starts nothing there any more."""
    east = await joined(behind.share("east"), POOL, News(running=(ONE.lease,)))
    west = await joined(behind.share("west"), POOL)
    await opened(west, POOL, State(1))
    assert await moved(behind, "east") == Kept(1, untold=False)
    await behind.copy()
    await behind.fail_over()
    await tell_anew(west, News(), 0)
    assert isinstance(await west.ledger.read(POOL), Page)
    assert await moved(behind, "east") == Kept(1, untold=False)
    await east.backlog.join(POOL, RULES)
    with pytest.raises(UnavailableError, match="east must tell first"):
        await west.ledger.read(POOL)


async def test_24_who_moves_away_before_it_has_told_again_stops_the_others(behind: Pair) -> None:
    """What it started may be among what was lost: until an administrator says that it is over."""
    await joined(behind.share("east"), POOL)
    west = await joined(behind.share("west"), POOL)
    await opened(west, POOL, State(1))
    await behind.copy()
    await behind.fail_over()
    await tell_anew(west, News(), 0)
    for _ in range(2):
        assert await moved(behind, "east") == Kept(0, untold=True)
        with pytest.raises(UnavailableError, match="east must tell first"):
            await west.ledger.read(POOL)
    assert await forgotten(behind.connections, POOL, "east", 0)
    assert isinstance(await west.ledger.read(POOL), Page)


async def test_24_changes_that_have_the_numbers_of_lost_ones_are_heard(behind: Pair) -> None:
    east = await joined(behind.share("east"), POOL)
    west = await joined(behind.share("west"), POOL)
    await behind.copy()
    for _ in range(3):
        await west.backlog.tell(POOL, News(), 0)
    upto = (await west.backlog.hear(POOL, 0)).upto
    await behind.fail_over()
    await tell_anew(east, News(running=(ONE.lease,)), 2)
    for _ in range(5):
        await east.backlog.tell(POOL, News(), 2)
    heard = await west.backlog.hear(POOL, upto)
    assert heard.upto > upto
    assert (heard.whole, heard.running) == (True, (foreign(ONE.lease),))


async def test_24_a_standby_is_not_taken_for_the_primary(synchronous: Pair) -> None:
    """Nothing is read of it, and nothing of it is believed to be the newest."""
    await opened(synchronous.share("east"), POOL, State(1))
    only = Connections(synchronous.standby.url)
    with pytest.raises(UnavailableError, match="takes no writes"):
        await PostgresLedger(only, Cluster("east")).read(POOL)


async def test_24_whoever_listens_finds_the_server_that_takes_writes(synchronous: Pair) -> None:
    """A standby that is named first takes no LISTEN, as the primary of before once it is back."""
    heard = Heard()
    backwards = url(synchronous.standby, synchronous.primary)
    task = asyncio.create_task(Listener(Servers(backwards), heard).run())
    await heard.until(None)
    await synchronous.told(f"SELECT pg_notify('kwicket', '{POOL}')")
    await heard.until(None, POOL)
    task.cancel()
    await asyncio.wait([task])


async def test_a_server_that_becomes_read_only_is_said_to_be(behind: Pair) -> None:
    east = behind.share("east")
    page = await opened(east, POOL, State(1))
    await behind.told("ALTER SYSTEM SET default_transaction_read_only = on")
    await behind.told("SELECT pg_reload_conf()")
    await until(lambda: behind.told(f"{SETTING} = 'on'"))
    for _ in range(2):
        with pytest.raises(UnavailableError, match="takes no writes"):
            await east.ledger.commit(page, State(2))
    await behind.told("ALTER SYSTEM RESET ALL")
    await behind.told("SELECT pg_reload_conf()")
    await until(lambda: behind.told(f"{SETTING} = 'off'"))
    assert isinstance(await east.ledger.commit(page, State(2)), Page)


async def tell_anew(share: Share, here: News, highest: int) -> None:
    await share.backlog.join(POOL, RULES)
    await share.backlog.tell_all(POOL, here, highest)


async def moved(pair: Pair, cluster: str) -> Kept | None:
    """What is kept of a cluster that moves away."""
    members = Memberships(pair.connections, Cluster(cluster), f"of {cluster}")
    return await members.end((await members.all())[POOL])
