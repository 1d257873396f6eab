"""Upheld: what the ledger was known to have counts for a moment, and for nothing newer."""

from kwicket.core.state import State
from kwicket.engine.desk import Desk
from kwicket.engine.upheld import NEVER, Upheld
from kwicket.ports.ledger import Page
from kwicket_storage.memory import MemoryLedger
from support.builders import intent, jobs, rules
from support.fakes import FakeClock


async def test_a_page_that_is_older_than_a_grant_does_not_refute_it() -> None:
    """It was read for a former grant a moment ago; another cluster has decided this one since."""
    ledger, clock = MemoryLedger(), FakeClock()
    desk, upheld = Desk(rules(jobs(2)), clock), Upheld(ledger, clock)
    one, two = intent("a-1", token=2), intent("a-2", token=3)
    page = await ledger.open("pool", State(2, intents=(one,)))
    assert isinstance(page, Page)
    assert await upheld.holds(desk, one, NEVER, NEVER)
    await ledger.commit(page, State(3, intents=(one, two)))
    assert await upheld.holds(desk, two, NEVER, NEVER)
