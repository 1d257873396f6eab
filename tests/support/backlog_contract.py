"""The behaviour of a shared backlog, written once. Whoever keeps one subclasses `BacklogContract`.

A subclass gives the fixture `share`, which makes what one process of a cluster works with.
"""

import asyncio
import itertools
import uuid
from collections.abc import Callable

import pytest
from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.leases import Lease
from kwicket.core.state import Intent, State
from kwicket.core.tickets import Ticket
from kwicket.ports.backlog import Backlog, Claimed, Elsewhere, Freed, News
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Ledger, Page
from support.builders import START, intent, ticket

RULES = "rules"


class Share(Struct, frozen=True):
    """What one process of a cluster works with."""

    ledger: Ledger
    backlog: Backlog


type Shares = Callable[..., Share]


def foreign[One: (Ticket, Lease)](one: One, cluster: str = "east") -> One:
    """A ticket or lease of `cluster` as other clusters know it."""
    return replace(one, uid=f"{cluster}/{one.uid}", job=f"{cluster}/{one.job}")


def told(heard: Elsewhere) -> News:
    """What was heard, without when."""
    freed = tuple(replace(one, at=0) for one in heard.freed)
    return News(heard.waiting, heard.left, heard.running, freed)


async def joined(share: Share, pool: str, here: News | None = None) -> Share:
    """A process that has told all."""
    await share.backlog.join(pool, RULES)
    await share.backlog.tell_all(pool, here or News(), 0)
    return share


async def opened_page(ledger: Ledger, pool: str) -> Page:
    """The first page of a pool."""
    page = await ledger.open(pool, State(1))
    assert isinstance(page, Page)
    return page


async def opened(share: Share, pool: str, state: State) -> Page:
    page = await share.ledger.open(pool, state)
    assert isinstance(page, Page)
    return page


async def granted(share: Share, page: Page, *intents: Intent) -> Page:
    """The page after somebody has decided these grants."""
    highest = max(one.lease.token for one in intents)
    written = await share.ledger.commit(page, replace(page.state, version=highest, intents=intents))
    assert isinstance(written, Page)
    return written


FIRST, SECOND = ticket("a-1", "alice"), ticket("b-1", "bob", width=3, traits=(("tier", 250),))
LEASE = intent("a-1", "alice", token=7).lease


LATE = 2**52


async def moment(share: Share, pool: str, after: int = 0) -> int:
    """What time it is by the clock that counts; later than another moment."""
    for n in itertools.count(1):
        lease = replace(LEASE, uid=f"{after}-{n}", token=after + 1_000 + n)
        await share.backlog.tell(pool, News(over=(Freed(lease, LATE),)), 0)
        at = (await share.backlog.ended(pool, (lease.token,)))[lease.token]
        if at is not None and at > after:
            return at
    raise AssertionError("no end")


class BacklogContract:
    """What every shared backlog does."""

    @pytest.fixture
    def pool(self) -> str:
        return f"pool-{uuid.uuid4().hex[:12]}"

    @pytest.fixture
    async def east(self, share: Shares, pool: str) -> Share:
        return await joined(share("east"), pool)

    @pytest.fixture
    async def west(self, share: Shares, pool: str) -> Share:
        return await joined(share("west"), pool)

    async def test_a_pool_of_which_nobody_told_has_nothing(self, share: Shares, pool: str) -> None:
        heard = await share("east").backlog.hear(pool, 0)
        assert replace(heard, highest=0) == Elsewhere()

    async def test_a_cluster_leaves_once_nothing_of_it_runs(
        self, east: Share, west: Share, pool: str
    ) -> None:
        """What it took up and never started goes back then."""
        page = await opened(west, pool, State(1))
        theirs = intent("b-1", "bob", token=9)
        await granted(west, page, replace(theirs, lease=foreign(theirs.lease)))
        read = await east.ledger.read(pool)
        assert read is not None
        assert (await east.backlog.claim(read, (9,))).tokens == (9,)
        await east.backlog.tell(pool, News(running=(LEASE,)), 7)
        assert pool in await east.backlog.shared()
        assert not await east.backlog.leave(pool)
        assert (await west.backlog.hear(pool, 0)).running == (foreign(LEASE),)
        await east.backlog.tell_all(pool, News(), 7)
        assert await east.backlog.leave(pool)
        assert pool not in await east.backlog.shared()
        heard = await west.backlog.hear(pool, 0)
        assert [one.cluster for one in heard.members] == ["west"]
        assert (heard.running, heard.overdue) == ((), (9,))

    async def test_a_former_process_does_not_leave(
        self, share: Shares, east: Share, pool: str
    ) -> None:
        await joined(share("east"), pool)
        assert not await east.backlog.leave(pool)
        assert pool in await east.backlog.shared()

    async def test_who_waits_in_one_cluster_is_heard_of_in_another(
        self, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell(pool, News(waiting=(FIRST, SECOND)), 0)
        heard = await west.backlog.hear(pool, 0)
        assert set(heard.waiting) == {foreign(FIRST), foreign(SECOND)}
        assert told(await east.backlog.hear(pool, 0)) == News()

    async def test_only_what_has_changed_since_is_heard(
        self, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell(pool, News(waiting=(FIRST,)), 0)
        first = await west.backlog.hear(pool, 0)
        await east.backlog.tell(pool, News(waiting=(SECOND,), left=(FIRST.uid,)), 0)
        second = await west.backlog.hear(pool, first.upto)
        assert told(second) == News(waiting=(foreign(SECOND),), left=(foreign(FIRST).uid,))
        assert not second.whole
        assert told(await west.backlog.hear(pool, second.upto)) == News()
        assert told(await west.backlog.hear(pool, 0)) == News(waiting=(foreign(SECOND),))

    async def test_a_ticket_that_is_another_one_now_takes_the_place_of_the_former(
        self, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell(pool, News(waiting=(FIRST,)), 0)
        later = replace(FIRST, held=True, deliveries=2)
        await east.backlog.tell(pool, News(waiting=(later,)), 0)
        assert told(await west.backlog.hear(pool, 0)) == News(waiting=(foreign(later),))

    async def test_a_ticket_that_is_back_in_line_waits(
        self, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell(pool, News(waiting=(FIRST,)), 0)
        await east.backlog.tell(pool, News(left=(FIRST.uid,)), 0)
        upto = (await west.backlog.hear(pool, 0)).upto
        await east.backlog.tell(pool, News(waiting=(FIRST,)), 0)
        for since in (upto, 0):
            assert told(await west.backlog.hear(pool, since)) == News(waiting=(foreign(FIRST),))

    async def test_a_slot_is_taken_until_it_is_said_to_be_free(
        self, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell(pool, News(running=(LEASE,)), 0)
        taken = await west.backlog.hear(pool, 0)
        assert told(taken) == News(running=(foreign(LEASE),))
        await east.backlog.tell(pool, News(over=(Freed(LEASE, 0),)), 0)
        assert told(await west.backlog.hear(pool, taken.upto)) == News(
            over=(Freed(foreign(LEASE), 0),)
        )
        assert told(await west.backlog.hear(pool, 0)) == News()

    async def test_a_slot_that_is_taken_again_by_the_same_start_is_taken(
        self, east: Share, west: Share, pool: str
    ) -> None:
        for news in (News(running=(LEASE,)), News(over=(Freed(LEASE, 0),)), News(running=(LEASE,))):
            await east.backlog.tell(pool, news, 0)
        assert told(await west.backlog.hear(pool, 0)) == News(running=(foreign(LEASE),))

    async def test_when_a_grant_ended_is_known_and_stays_so(
        self, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell(pool, News(running=(LEASE,)), 0)
        assert await west.backlog.ended(pool, (LEASE.token, 8)) == {}
        heard = await west.backlog.hear(pool, 0)
        await east.backlog.tell(pool, News(over=(Freed(LEASE, 0),)), 0)
        [freed] = (await west.backlog.hear(pool, heard.upto)).freed
        await east.backlog.tell(pool, News(over=(Freed(LEASE, 0),)), 0)
        assert await west.backlog.ended(pool, (LEASE.token, 8)) == {LEASE.token: freed.at}

    async def test_a_grant_ended_when_its_cluster_says_but_never_later_than_now(
        self, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell(pool, News(running=(LEASE,)), 0)
        at = await moment(east, pool)
        assert at < LATE
        await moment(east, pool, after=at)
        await east.backlog.tell(pool, News(over=(Freed(LEASE, at),)), 0)
        assert await west.backlog.ended(pool, (LEASE.token,)) == {LEASE.token: at}

    async def test_what_ended_unseen_ended_with_the_last_sign_of_life_if_nobody_knows_better(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        """And not when its next process has told so, which may be days later."""
        other = replace(LEASE, uid="other", token=8)
        await east.backlog.tell(pool, News(running=(LEASE, other)), 0)
        await east.backlog.beat(pool, RULES)
        beaten = await moment(east, pool)
        at = await moment(east, pool, after=beaten)
        heard = await west.backlog.hear(pool, 0)
        await joined(share("east"), pool, News(over=(Freed(other, at),)))
        freed = (await west.backlog.hear(pool, heard.upto)).freed
        [unseen] = [one.at for one in freed if one.lease == foreign(LEASE)]
        assert [one.at for one in freed if one.lease == foreign(other)] == [at]
        assert unseen <= beaten

    async def test_news_may_be_told_twice(self, east: Share, west: Share, pool: str) -> None:
        news = News(waiting=(FIRST,), left=("gone",), running=(replace(LEASE, uid="other"),))
        for _ in range(2):
            await east.backlog.tell(pool, news, 0)
        heard = await west.backlog.hear(pool, 0)
        assert (len(heard.waiting), len(heard.running)) == (1, 1)

    async def test_two_clusters_may_have_a_job_of_the_same_uid(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        """As two that were made of one backup have."""
        for cluster in (east, west):
            await cluster.backlog.tell(pool, News(waiting=(FIRST,)), 0)
        heard = await share("north").backlog.hear(pool, 0)
        assert {one.uid for one in heard.waiting} == {f"east/{FIRST.uid}", f"west/{FIRST.uid}"}

    async def test_two_clusters_may_have_jobs_with_the_same_token(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        """As they may that had ledgers of their own before."""
        for cluster in (east, west):
            await cluster.backlog.tell(pool, News(running=(LEASE,)), 0)
        await east.backlog.tell(pool, News(over=(Freed(LEASE, 0),)), 0)
        heard = await share("north").backlog.hear(pool, 0)
        assert heard.running == (foreign(LEASE, "west"),)

    async def test_pools_have_backlogs_of_their_own(
        self, east: Share, west: Share, pool: str
    ) -> None:
        await joined(east, f"{pool}-b")
        await east.backlog.tell(f"{pool}-b", News(waiting=(FIRST,)), 0)
        assert told(await west.backlog.hear(pool, 0)) == News()

    async def test_more_than_fits_one_transaction_is_told_whole(
        self, east: Share, west: Share, pool: str
    ) -> None:
        many = tuple(ticket(f"a-{n}", "alice") for n in range(2_500))
        await east.backlog.tell(pool, News(waiting=many), 0)
        heard = (await west.backlog.hear(pool, 0)).waiting
        assert {one.uid for one in heard} == {foreign(one).uid for one in many}

    async def test_the_highest_token_that_anybody_knows_is_heard_of(
        self, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell(pool, News(), 2**59)
        await east.backlog.tell(pool, News(), 5)
        assert (await west.backlog.hear(pool, 0)).highest == 2**59

    async def test_with_all_that_there_is_tokens_go_on_from_the_present_time_each_time(
        self, east: Share, west: Share, pool: str
    ) -> None:
        """Of a grant that was lost with a server nobody may know."""
        await east.backlog.tell(pool, News(), 2)
        now = await moment(east, pool)
        for _ in range(2):
            heard = await west.backlog.hear(pool, 0)
            assert heard.highest >= now
        assert (await west.backlog.hear(pool, heard.upto)).highest == 2

    async def test_who_tells_all_takes_back_what_else_was_told(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        """As an operator does that begins: what ended while it was down is not told by anybody."""
        gone = replace(LEASE, uid="gone", token=8)
        await east.backlog.tell(pool, News(waiting=(FIRST, SECOND), running=(LEASE, gone)), 0)
        heard = await west.backlog.hear(pool, 0)
        await joined(share("east"), pool, News(waiting=(SECOND,), running=(LEASE,)))
        later = await west.backlog.hear(pool, heard.upto)
        assert told(later) == News(left=(foreign(FIRST).uid,), over=(Freed(foreign(gone), 0),))

    async def test_what_a_former_process_tells_is_not_taken(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        await joined(share("east"), pool)
        with pytest.raises(UnavailableError, match="another replica"):
            await east.backlog.tell(pool, News(waiting=(FIRST,)), 0)
        assert not await east.backlog.beat(pool, RULES)
        assert told(await west.backlog.hear(pool, 0)) == News()

    async def test_what_a_former_process_decides_is_not_taken(
        self, share: Shares, east: Share, pool: str
    ) -> None:
        """It may have missed what its successor granted, which its watch alone would tell it."""
        page = await opened(east, pool, State(1))
        fresh = await joined(share("east"), pool)
        assert await east.ledger.commit(page, State(2)) == Conflict()
        assert isinstance(await fresh.ledger.commit(page, State(2)), Page)

    async def test_a_process_that_begins_does_not_stop_the_others(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        """What its cluster told before still holds, with the grants of the page."""
        page = await opened(west, pool, State(1))
        await share("east").backlog.join(pool, RULES)
        assert await west.ledger.read(pool) == page

    async def test_a_cluster_does_not_forget_itself(
        self, share: Shares, east: Share, pool: str
    ) -> None:
        assert not await east.backlog.forget(pool, "east", 0)

    async def test_what_lapsed_is_given_back_where_a_page_has_it_still(
        self, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell(pool, News(running=(LEASE,)), 7)
        await west.backlog.forget(pool, "east", 0)
        assert (await west.backlog.hear(pool, 0)).overdue == (LEASE.token,)

    async def test_a_cluster_of_the_same_name_is_refused(
        self, share: Shares, east: Share, pool: str
    ) -> None:
        with pytest.raises(ValueError, match="a name of its own"):
            await share("east", identity="another").backlog.join(pool, RULES)
        assert await east.backlog.beat(pool, RULES)

    async def test_members_and_their_rules_are_known(
        self, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.beat(pool, "others")
        members = (await west.backlog.hear(pool, 0)).members
        assert [(one.cluster, one.rules, one.here) for one in members] == [
            ("east", "others", False),
            ("west", RULES, True),
        ]
        assert all(0 <= one.silence < 60 for one in members)

    async def test_nobody_reads_a_page_until_all_members_have_told_what_runs_there(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        page = await opened(west, pool, State(1))
        fresh = share("north")
        await fresh.backlog.join(pool, RULES)
        with pytest.raises(UnavailableError, match="north must tell first"):
            await west.ledger.read(pool)
        assert await fresh.ledger.read(pool) == page
        await fresh.backlog.tell_all(pool, News(running=(LEASE,)), 7)
        assert await west.ledger.read(pool) == page

    async def test_a_grant_for_another_cluster_is_read_there_as_its_own(
        self, east: Share, west: Share, pool: str
    ) -> None:
        page = await opened(west, pool, State(1))
        theirs, ours = intent("a-1", "alice", token=2), intent("b-1", "bob", token=3)
        written = await granted(west, page, replace(theirs, lease=foreign(theirs.lease)), ours)
        read = await east.ledger.read(pool)
        assert read is not None
        assert read.state.intents == (theirs, replace(ours, lease=foreign(ours.lease, "west")))
        assert await west.ledger.read(pool) == written

    async def test_a_claim_outdates_the_page_that_it_was_not_seen_on(
        self, east: Share, west: Share, pool: str
    ) -> None:
        """Else a grant could be taken back that its cluster begins to apply."""
        theirs = intent("a-1", "alice", token=2)
        page = await opened(west, pool, State(1))
        page = await granted(west, page, replace(theirs, lease=foreign(theirs.lease)))
        read = await east.ledger.read(pool)
        assert read is not None
        claimed = await east.backlog.claim(read, (2,))
        assert claimed.page is not None
        assert (claimed.tokens, claimed.page.state) == ((2,), read.state)
        assert await west.ledger.commit(page, replace(page.state, intents=())) == Conflict()
        assert await east.ledger.read(pool) == claimed.page

    async def test_a_claim_is_taken_whatever_others_have_written_meanwhile(
        self, east: Share, west: Share, pool: str
    ) -> None:
        """Else a cluster that is far away would never win against one that is near and busy."""
        theirs, ours = intent("a-1", "alice", token=2), intent("b-1", "bob", token=3)
        page = await opened(west, pool, State(1))
        page = await granted(west, page, replace(theirs, lease=foreign(theirs.lease)))
        read = await east.ledger.read(pool)
        assert read is not None
        page = await granted(west, page, *page.state.intents, ours)
        assert await east.backlog.claim(read, (2,)) == Claimed((2,))
        assert await west.ledger.commit(page, replace(page.state, intents=())) == Conflict()

    async def test_grants_of_a_page_that_was_brought_along_are_claimed(
        self, east: Share, pool: str
    ) -> None:
        page = await opened(east, pool, State(2, intents=(intent("a-1", "alice", token=2),)))
        assert (await east.backlog.claim(page, (2,))).tokens == (2,)

    async def test_a_grant_that_leaves_the_page_once_it_was_told_holds_its_slot(
        self, east: Share, west: Share, pool: str
    ) -> None:
        page = await opened(east, pool, State(1))
        page = await granted(east, page, intent("a-1", "alice", token=7))
        await east.backlog.tell(pool, News(running=(LEASE,)), 7)
        await east.ledger.commit(page, replace(page.state, intents=()))
        assert told(await west.backlog.hear(pool, 0)) == News(running=(foreign(LEASE),))

    async def test_what_was_taken_back_is_not_claimed(
        self, east: Share, west: Share, pool: str
    ) -> None:
        theirs = intent("a-1", "alice", token=2)
        page = await opened(west, pool, State(1))
        page = await granted(west, page, replace(theirs, lease=foreign(theirs.lease)))
        read = await east.ledger.read(pool)
        assert read is not None
        back = await west.ledger.commit(page, replace(page.state, intents=()))
        assert isinstance(back, Page)
        assert await east.backlog.claim(read, (2,)) == Claimed()

    async def test_a_cluster_is_forgotten_once_it_was_silent_for_so_long(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        page = await opened(west, pool, State(1))
        theirs = intent("b-1", "bob", token=9)
        await granted(west, page, replace(theirs, lease=foreign(theirs.lease)))
        await east.backlog.tell(pool, News(waiting=(FIRST,), running=(LEASE,)), 7)
        heard = await west.backlog.hear(pool, 0)
        assert heard.overdue == ()
        assert not await west.backlog.forget(pool, "east", 3600)
        assert await west.backlog.forget(pool, "east", 0)
        later = await west.backlog.hear(pool, heard.upto)
        assert told(later) == News(left=(foreign(FIRST).uid,), over=(Freed(foreign(LEASE), 0),))
        assert later.overdue == (LEASE.token, 9)
        assert [one.cluster for one in later.members] == ["west"]
        assert not await east.backlog.beat(pool, RULES)

    async def test_a_cluster_that_was_forgotten_comes_back_by_telling_all(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell(pool, News(running=(LEASE,)), 7)
        await west.backlog.forget(pool, "east", 0)
        await joined(east, pool, News(running=(LEASE,)))
        assert told(await west.backlog.hear(pool, 0)) == News(running=(foreign(LEASE),))

    async def test_many_tell_at_once_and_no_change_is_missed(
        self, share: Shares, west: Share, pool: str
    ) -> None:
        """A change with a lower number must not be seen after one with a higher number."""
        names = [f"c{n}" for n in range(5)]
        shares = [await joined(share(name), pool) for name in names]
        told = {f"{name}/{n}" for name in names for n in range(20)}
        heard: set[str] = set()

        async def tell(one: Share) -> None:
            for n in range(20):
                news = News(waiting=(replace(FIRST, uid=str(n)),))
                await one.backlog.tell(pool, news, 0)
                await asyncio.sleep(0)

        async def listen() -> None:
            upto = 0
            while heard != told:
                news = await west.backlog.hear(pool, upto)
                heard.update(one.uid for one in news.waiting)
                upto = news.upto
                await asyncio.sleep(0)

        async with asyncio.timeout(30):
            await asyncio.gather(listen(), *map(tell, shares))
        assert heard == told

    async def test_moments_are_kept_to_the_millisecond(
        self, east: Share, west: Share, pool: str
    ) -> None:
        odd = replace(FIRST, submitted=START + 1, tenant="O'Hara \\ 世界", lane="gpu")
        await east.backlog.tell(pool, News(waiting=(odd,)), 0)
        assert (await west.backlog.hear(pool, 0)).waiting == (foreign(odd),)
