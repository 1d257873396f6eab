"""The model of the database does what PostgreSQL does: the backlog's contract, and failovers."""

import random
from contextvars import copy_context

import pytest
from msgspec.structs import replace

from faults.network import Link
from faults.options import START
from faults.process import Clock
from faults.server import Server
from faults.shared.database import Database, TimedBacklog
from faults.shared.line import Line, Strain
from faults.store import Store, Versions
from kwicket.core.state import State
from kwicket.ports.backlog import News
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Page
from kwicket_storage.clusters import Cluster
from kwicket_storage.shared_memory import SharedMemoryLedger
from support.backlog_contract import (
    RULES,
    BacklogContract,
    Share,
    Shares,
    foreign,
    granted,
    joined,
    opened,
)
from support.builders import intent
from support.restore_contract import RestoreContract

POOL = "licences"
ONE = intent("a-1", token=2)


@pytest.fixture
async def database() -> Database:
    return Database(Clock(START, 0), Versions())


@pytest.fixture
async def strain() -> Strain:
    """What is wrong with every line, which is nothing."""
    return Strain(way=0.001)


@pytest.fixture
async def share(database: Database, strain: Strain) -> Shares:
    def made(name: str, identity: str = "") -> Share:
        dice = random.Random(1)  # noqa: S311
        link = Link(Server(Store(START)), name, dice, copy_context())
        line, cluster = Line(database, link, strain, dice), Cluster(name)
        backlog = TimedBacklog(database, cluster, identity or f"of {name}", process=name)
        return Share(line.to(SharedMemoryLedger(database, cluster, backlog)), line.to(backlog))

    return made


class TestTheModel(BacklogContract, RestoreContract):
    """Over lines on which nothing goes wrong."""


async def tell_anew(share: Share, here: News, highest: int) -> None:
    await share.backlog.join(POOL, RULES)
    await share.backlog.tell_all(POOL, here, highest)


async def test_after_commits_were_lost_no_page_of_before_is_replaced(
    share: Shares, database: Database
) -> None:
    east = await joined(share("east"), POOL)
    page = await opened(east, POOL, State(1))
    copy = database.copy()
    later = await granted(east, page, ONE)
    database.fail_over(copy)
    await tell_anew(east, News(), 0)
    for old in (page, later):
        assert await east.ledger.commit(old, State(9)) == Conflict()
    read = await east.ledger.read(POOL)
    assert read is not None
    assert read.state == State(1)
    assert isinstance(await east.ledger.commit(read, State(9)), Page)


async def test_nobody_reads_a_page_until_all_have_told_again(
    share: Shares, database: Database
) -> None:
    east, west = await joined(share("east"), POOL), await joined(share("west"), POOL)
    page = await opened(west, POOL, State(1))
    copy = database.copy()
    await granted(west, page, replace(ONE, lease=foreign(ONE.lease)))
    await east.backlog.tell(POOL, News(running=(ONE.lease,)), 2)
    database.fail_over(copy)
    assert not await east.backlog.beat(POOL, RULES)
    with pytest.raises(UnavailableError, match="east must tell first"):
        await west.ledger.read(POOL)
    await tell_anew(east, News(running=(ONE.lease,)), 2)
    assert isinstance(await west.ledger.read(POOL), Page)
    heard = await west.backlog.hear(POOL, 0)
    assert heard.highest >= START
    assert heard.running == (foreign(ONE.lease),)


async def test_who_tells_all_while_the_server_fails_over_has_not_told(
    share: Shares, database: Database
) -> None:
    east, west = share("east"), share("west")
    await opened(west, POOL, State(1))
    await east.backlog.join(POOL, RULES)
    database.fail_over(database.copy())
    with pytest.raises(UnavailableError, match="changed meanwhile"):
        await east.backlog.tell_all(POOL, News(), 0)
    with pytest.raises(UnavailableError, match="east must tell first"):
        await west.ledger.read(POOL)


async def test_changes_that_have_the_numbers_of_lost_ones_are_heard(
    share: Shares, database: Database
) -> None:
    east, west = await joined(share("east"), POOL), await joined(share("west"), POOL)
    copy = database.copy()
    for _ in range(3):
        await west.backlog.tell(POOL, News(), 0)
    upto = (await west.backlog.hear(POOL, 0)).upto
    database.fail_over(copy)
    await tell_anew(east, News(running=(ONE.lease,)), 2)
    for _ in range(5):
        await east.backlog.tell(POOL, News(), 2)
    heard = await west.backlog.hear(POOL, upto)
    assert (heard.whole, heard.running) == (True, (foreign(ONE.lease),))


async def test_what_was_committed_without_an_answer_is_there(
    share: Shares, database: Database, strain: Strain
) -> None:
    east = await joined(share("east"), POOL)
    page = await opened(east, POOL, State(1))
    strain.lost_answer = 1
    with pytest.raises(UnavailableError):
        await east.ledger.commit(page, State(2))
    strain.lost_answer = 0
    read = await east.ledger.read(POOL)
    assert read is not None
    assert read.state == State(2)
    assert await east.ledger.commit(page, State(3)) == Conflict()


@pytest.mark.parametrize("wrong", ["cut", "down", "read-only", "lost_request", "rolled_back"])
async def test_what_was_not_committed_is_not_there(
    share: Shares, database: Database, strain: Strain, wrong: str
) -> None:
    east = await joined(share("east"), POOL)
    page = await opened(east, POOL, State(1))
    at, name = (database if wrong in ("down", "read-only") else strain), wrong.replace("-", "_")
    setattr(at, name, 1)
    with pytest.raises(UnavailableError):
        await east.ledger.commit(page, State(2))
    setattr(at, name, 0)
    assert await east.ledger.read(POOL) == page
