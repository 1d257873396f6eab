"""`charge: Time`: a charge is open in the ledger until its Job's end settles it, once."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.core.fairness import SCALE
from kwicket.core.pools import Charging
from kwicket.core.state import State
from support.builders import catalog, job_seen, jobs, pool
from support.fakes import FlakyLedger
from support.world import World

QUIET = 2
"""Seconds after which everything that nobody is waiting for is in the ledger."""
GUESS = 60_000
"""The milliseconds that a stranger's first Job is charged for."""


@pytest.fixture
def timed(world: World) -> World:
    """A pool of four slots that charges time, and alice's Job x-1 in it."""
    world.catalog = catalog(pool(charging=Charging.TIME), jobs(4))
    world.api.create(job_seen("x-1"))
    return world


def paid(state: State, tenant: str = "alice") -> int:
    """What a tenant has paid beyond virtual time, in slot-milliseconds."""
    ahead = state.fairness.tags.get(tenant, 0) - state.fairness.virtual_time
    assert state.fairness.scale == SCALE
    assert ahead % SCALE == 0
    return max(ahead, 0) // SCALE


def granted_at(world: World, name: str = "x-1") -> int:
    [at] = {order.granted_at for order in world.api.written if order.job.name == name}
    return at


async def end(world: World, name: str = "x-1", ran: int = 10_000) -> None:
    """The Job ends after so many milliseconds by its own stamps."""
    world.api.change(name, ended=True, finished=granted_at(world, name) + ran)
    await world.moment()


async def test_a_job_carries_what_its_start_was_charged(timed: World) -> None:
    await timed.replica()
    timed.api.create(job_seen("w-1", "bob", parallelism=3))
    await timed.moment()
    charged = {order.job.name: order.charged for order in timed.api.written}
    assert charged == {"x-1": "60000", "w-1": "180000"}


async def test_a_redelivery_is_charged_nothing(timed: World) -> None:
    for charging in Charging:
        timed.catalog = catalog(pool(charging=charging))
        name = f"again-{charging}".lower()
        timed.api.create(job_seen(name, token=5, granted_pool="pool", deliveries=1))
        replica = await timed.replica()
        await timed.moment(10)
        await replica.crash()
        assert [o.charged for o in timed.api.written if o.job.name == name] == ["0"]


async def test_a_charge_is_open_while_its_job_runs_and_settled_when_it_ends(timed: World) -> None:
    await timed.replica()
    await timed.moment(10)
    page = await timed.page()
    [charge] = page.charges
    assert (charge.token, charge.amount, paid(page)) == (timed.job("x-1").token, GUESS, GUESS)
    timed.api.change("x-1", ended=True)
    await timed.moment(QUIET)
    page = await timed.page()
    run = page.means["alice"]
    assert 10_000 <= run <= 11_000
    assert (page.charges, paid(page)) == ((), run)


async def test_an_end_that_is_seen_counts_by_the_operators_own_clock(timed: World) -> None:
    """The Job's stamps may come from another clock, and its grant's is the operator's."""
    await timed.replica()
    await timed.moment(10)
    await end(timed, ran=3_000)
    await timed.moment(QUIET)
    assert (await timed.page()).means["alice"] >= 10_000


async def test_a_job_that_outruns_its_charge_is_charged_again_though_nothing_happens(
    timed: World,
) -> None:
    await timed.replica()
    await timed.moment(59)
    assert paid(await timed.page()) == GUESS
    await timed.moment(1 + QUIET)
    page = await timed.page()
    assert ([one.amount for one in page.charges], paid(page)) == ([2 * GUESS], 2 * GUESS)


async def test_a_charge_outlives_a_restart_while_its_job_runs(timed: World) -> None:
    first = await timed.replica()
    await first.crash()
    await timed.moment(10)
    await timed.replica()
    await timed.moment(QUIET)
    assert [one.token for one in (await timed.page()).charges] == [timed.job("x-1").token]
    timed.api.change("x-1", ended=True)
    await timed.moment(QUIET)
    page = await timed.page()
    assert page.charges == ()
    assert paid(page) == page.means["alice"] >= 10_000


async def test_a_job_that_ended_while_nobody_watched_is_settled_by_its_own_stamps(
    timed: World,
) -> None:
    first = await timed.replica()
    await first.crash()
    await end(timed, ran=12_345)
    await timed.moment(500)
    await timed.replica()
    await timed.moment(QUIET)
    page = await timed.page()
    assert (page.charges, page.means, paid(page)) == ((), {"alice": 12_345}, 12_345)


async def test_a_job_whose_pods_had_all_succeeded_has_ended_by_now(timed: World) -> None:
    """It does not say so itself yet, so that it carries no stamp."""
    first = await timed.replica()
    await first.crash()
    timed.api.change("x-1", completions=1, succeeded=1)
    await timed.moment(10)
    await timed.replica()
    await timed.moment(QUIET)
    page = await timed.page()
    assert page.charges == ()
    assert paid(page) == page.means["alice"] >= 10_000


async def test_a_job_that_was_gone_when_somebody_looked_stays_charged(timed: World) -> None:
    first = await timed.replica()
    await first.crash()
    await end(timed)
    timed.api.delete("x-1")
    await timed.replica()
    await timed.moment(QUIET)
    page = await timed.page()
    assert (page.charges, page.means, paid(page)) == ((), {}, GUESS)


async def test_the_end_of_another_pools_job_with_the_same_token_settles_nothing(
    timed: World,
) -> None:
    first = await timed.replica()
    await first.crash()
    token = timed.job("x-1").token
    timed.api.delete("x-1")
    stamps: dict[str, Any] = {
        "token": token,
        "granted_pool": "other",
        "finished": timed.clock.now() + 99_000,
    }
    timed.api.create(job_seen("other", ended=True, **stamps))
    await timed.replica()
    await timed.moment(QUIET)
    page = await timed.page()
    assert (page.charges, paid(page)) == ((), GUESS)


async def test_a_settlement_in_the_ledger_is_not_made_again_after_a_restart(timed: World) -> None:
    first = await timed.replica()
    await end(timed)
    await timed.moment(QUIET)
    settled = await timed.page()
    await first.crash()
    await timed.replica()
    await timed.moment(QUIET)
    page = await timed.page()
    assert (page.fairness, page.means) == (settled.fairness, settled.means)


async def test_a_settlement_that_the_ledger_never_heard_of_is_made_after_a_restart(
    timed: World,
) -> None:
    ledger = FlakyLedger(timed.ledger)
    first = await timed.replica(ledger)
    await timed.moment(10)
    ledger.down = True
    await end(timed, ran=10_000)
    await first.crash()
    assert len((await timed.page()).charges) == 1
    await timed.replica()
    await timed.moment(QUIET)
    page = await timed.page()
    assert (page.charges, paid(page)) == ((), 10_000)


@pytest.mark.parametrize("fate", ["before", "after"])
async def test_a_settlement_without_an_answer_is_made_once(timed: World, fate: str) -> None:
    ledger = FlakyLedger(timed.ledger)
    await timed.replica(ledger)
    await timed.moment(10)
    ledger.lose.append(fate)
    await end(timed, ran=10_000)
    await timed.moment(10)
    page = await timed.page()
    assert page.charges == ()
    assert paid(page) == page.means["alice"] >= 10_000


async def test_two_operators_settle_each_job_once(timed: World) -> None:
    """Both see the ends; the one whose page is stale takes the other's word for it."""
    tenants = ["alice", "bob", "carol", "dave"]
    await timed.replica()
    await timed.replica()
    for tenant in tenants[1:]:
        timed.api.create(job_seen(f"{tenant}-1", tenant))
    await timed.moment(10)
    for number, job in enumerate(list(timed.api.jobs)):
        timed.api.change(job, ended=True)
        await timed.moment(0.4 * number)
    await timed.moment(10)
    page = await timed.page()
    assert page.charges == ()
    assert sorted(page.means) == tenants
    assert {tenant: paid(page, tenant) for tenant in tenants} == page.means


async def test_a_job_put_back_in_line_is_settled_and_charged_nothing_more(timed: World) -> None:
    await timed.replica()
    await timed.moment(10)
    timed.api.change("x-1", suspended=True, settled=True)
    await timed.moment(10 + QUIET)
    [charge] = (await timed.page()).charges
    assert (charge.amount, charge.token) == (0, timed.job("x-1").token)
    assert 10_000 <= paid(await timed.page()) <= 11_000


async def test_a_grant_that_never_reached_its_job_is_refunded(timed: World) -> None:
    timed.api.denied["x-1"] = "by policy"
    await timed.replica()
    await timed.moment(QUIET)
    page = await timed.page()
    assert (page.charges, page.means, paid(page)) == ((), {}, 0)


async def test_a_pool_that_charges_otherwise_from_now_on_starts_its_turns_anew(
    timed: World,
) -> None:
    await timed.replica()
    await timed.declare(catalog(pool(), jobs(4)))
    await timed.moment(QUIET)
    page = await timed.page()
    assert (page.charging, page.charges, paid(page)) == (Charging.STARTS, (), 0)
    timed.api.create(job_seen("x-2"))
    await timed.moment()
    assert timed.api.orders[-1].charged == "1"


async def test_a_page_of_a_pool_that_charged_otherwise_is_taken_over_without_its_turns(
    timed: World,
) -> None:
    first = await timed.replica()
    await first.crash()
    timed.catalog = catalog(pool(), jobs(4))
    await timed.replica()
    timed.api.create(job_seen("x-2"))
    await timed.moment()
    page = await timed.page()
    assert page.fairness == replace(page.fairness, virtual_time=0, tags={"alice": SCALE})
