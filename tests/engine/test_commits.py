"""Deciding moves the book on at once; the ledger hears of it later, and has the last word."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.core.pools import Charging
from kwicket.core.reasons import Reason
from support.builders import START, catalog, fairness, job_seen, jobs, pool
from support.fakes import FlakyLedger
from support.world import Replica, World

GIVEN_BACK = "kwicket_grants_given_back_total"
REDELIVERED: dict[str, Any] = {"token": 5, "granted_pool": "pool", "deliveries": 1}


@pytest.fixture
def ledger(world: World) -> FlakyLedger:
    """The world's ledger, which may be slow to answer or lose its answers."""
    return FlakyLedger(world.ledger)


async def contradict(world: World) -> None:
    """Somebody else writes the page, so that the next commit of the operator conflicts."""
    page = await world.ledger.read("pool")
    assert page is not None
    later = replace(page.state, version=page.state.version + 7)
    await world.ledger.commit(page, later)


async def order_of_starts(world: World, count: int) -> list[str]:
    """The Jobs that start as each runs alone and ends."""
    order = []
    for _ in range(count):
        [name] = world.started()
        order.append(name)
        world.api.change(name, ended=True)
        await world.moment()
    return order


async def test_what_a_conflicting_decision_had_granted_is_in_line_where_it_was(
    world: World,
) -> None:
    """Its turns are undone, too, or alice would have had two."""
    await world.replica()
    await contradict(world)
    world.api.create(*[job_seen(f"a-{n}") for n in range(3)], job_seen("c-1", "carol"))
    await world.until(lambda: bool(world.started()))
    page = await world.page()
    assert page.fairness == fairness(0, {"alice": 1})
    assert [intent.lease.token for intent in page.intents] == [page.version]
    assert await order_of_starts(world, 4) == ["a-0", "c-1", "a-1", "a-2"]


async def test_a_conflict_on_several_grants_puts_them_all_back(world: World) -> None:
    world.catalog = catalog(pool(), jobs(3))
    await world.replica()
    await contradict(world)
    world.api.create(*[job_seen(f"x-{n}") for n in range(5)])
    await world.until(lambda: len(world.started()) == 3)
    assert world.started() == ["x-0", "x-1", "x-2"]
    assert len(world.api.orders) == 3
    assert (await world.page()).fairness == fairness(2, {"alice": 3})


async def test_a_job_put_back_before_needs_no_second_proof_after_a_conflict(
    world: World,
) -> None:
    """It was in line, so that a list of its pods has said once that none is left."""
    world.catalog = catalog(pool(paused=True), jobs(1))
    world.api.create(job_seen("x-1", **REDELIVERED))
    replica = await world.replica()
    await contradict(world)
    asked: list[str] = []
    replica.cluster.listing = lambda: asked.append("pods")
    await world.declare(catalog(pool(), jobs(1)))
    await world.until(lambda: world.started() == ["x-1"])
    assert asked == []
    assert world.job("x-1").deliveries == 2


async def test_a_job_that_is_gone_when_its_decision_conflicts_is_forgotten(world: World) -> None:
    replica = await world.replica()
    replica.cluster.deaf.add("lost_job")
    await contradict(world)
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    world.api.delete("x-1")
    await world.until(lambda: world.started() == ["x-2"])
    await world.moment(2)
    page = await world.page()
    assert (page.intents, page.fairness) == ((), fairness(0, {"alice": 1}))


async def test_a_commit_without_an_answer_that_had_arrived_is_granted(
    world: World, ledger: FlakyLedger
) -> None:
    """With the tokens that it had, and charged once."""
    world.catalog = catalog(pool(), jobs(2))
    await world.replica(ledger)
    ledger.lose.append("after")
    world.api.create(*[job_seen(f"x-{n}") for n in range(3)])
    await world.until(lambda: len(world.started()) == 2)
    page = await world.page()
    assert [world.job(name).token for name in ("x-0", "x-1")] == [page.version - 1, page.version]
    assert page.fairness == fairness(1, {"alice": 2})
    assert ledger.commits == 1


async def test_a_commit_that_never_arrived_charges_nobody(
    world: World, ledger: FlakyLedger
) -> None:
    await world.replica(ledger)
    ledger.lose.extend(["before", "before"])
    world.api.create(*[job_seen(f"a-{n}") for n in range(3)], job_seen("c-1", "carol"))
    await world.until(lambda: bool(world.started()))
    assert ledger.commits == 3
    assert await order_of_starts(world, 4) == ["a-0", "c-1", "a-1", "a-2"]


async def answered_later(world: World, ledger: FlakyLedger, **fields: Any) -> Replica:
    """x-1 was granted and the ledger has it, but has not said so yet."""
    replica = await world.replica(ledger)
    ledger.answering.clear()
    world.api.create(job_seen("x-1", **fields))
    await world.moment()
    assert [intent.lease.uid for intent in (await world.page()).intents] == ["x-1"]
    assert world.api.orders == []
    return replica


async def test_a_job_that_came_while_the_ledger_took_a_decision_is_in_the_next(
    world: World, ledger: FlakyLedger
) -> None:
    world.catalog = catalog(pool(), jobs(2))
    await answered_later(world, ledger)
    world.api.create(job_seen("x-2"))
    await world.moment()
    ledger.answering.set()
    await world.moment()
    assert world.started() == ["x-1", "x-2"]


async def test_a_job_deleted_while_the_ledger_takes_its_grant_gives_it_back(
    world: World, ledger: FlakyLedger
) -> None:
    await answered_later(world, ledger)
    world.api.delete("x-1")
    world.api.create(job_seen("x-2", created=START + 1))
    await world.moment()
    ledger.answering.set()
    await world.moment(3)
    page = await world.page()
    assert world.started() == ["x-2"]
    assert (page.intents, page.fairness) == ((), fairness(0, {"alice": 1}))


async def test_a_job_held_while_the_ledger_takes_its_grant_goes_back_to_its_place(
    world: World, ledger: FlakyLedger
) -> None:
    await answered_later(world, ledger)
    world.api.change("x-1", held=True)
    await world.moment()
    ledger.answering.set()
    await world.moment()
    assert world.api.orders == []
    world.api.change("x-1", held=False)
    await world.moment()
    assert world.started() == ["x-1"]
    assert (await world.page()).fairness == fairness(0, {"alice": 1})


async def test_what_is_seen_while_the_ledger_is_told_something_else_is_told_next(
    world: World, ledger: FlakyLedger
) -> None:
    """x-1 is seen started while the page that still has its grant is on its way."""
    world.catalog = catalog(pool(), jobs(2))
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"))
    await world.replica(ledger)
    ledger.answering.clear()
    world.api.create(job_seen("x-2"))
    await world.moment()
    world.api.reachable.set()
    await world.moment()
    assert world.started() == ["x-1"]
    assert len((await world.page()).intents) == 2
    ledger.answering.set()
    await world.moment(3)
    assert (await world.page()).intents == ()


async def test_a_grant_given_back_while_the_ledger_is_told_of_it_once_more_is_given_back(
    world: World, ledger: FlakyLedger
) -> None:
    world.catalog = catalog(pool(), jobs(2))
    world.api.denied["x-1"] = "by policy"
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"))
    await world.replica(ledger)
    ledger.answering.clear()
    world.api.create(job_seen("c-1", "carol"))
    await world.moment()
    assert (await world.page()).fairness == fairness(0, {"alice": 1, "carol": 1})
    world.api.reachable.set()
    await world.moment()
    ledger.answering.set()
    await world.moment(3)
    page = await world.page()
    assert (page.intents, page.fairness) == ((), fairness(0, {"carol": 1}))


async def test_an_end_while_the_ledger_is_told_of_another_is_told_next(
    world: World, ledger: FlakyLedger
) -> None:
    """Nothing happens after it that would be written anyway."""
    world.catalog = catalog(pool(charging=Charging.TIME), jobs(2))
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    await world.replica(ledger)
    await world.moment(10)
    ledger.answering.clear()
    world.api.change("x-1", ended=True)
    await world.moment()
    assert [one.token for one in (await world.page()).charges] == [world.job("x-2").token]
    world.api.change("x-2", ended=True)
    await world.moment()
    ledger.answering.set()
    await world.moment(3)
    assert (await world.page()).charges == ()


async def test_a_job_that_somebody_else_had_started_meanwhile_is_proved_to_be_back(
    world: World, ledger: FlakyLedger
) -> None:
    """The ticket that it had when its grant was lost says nothing of its pods of now."""
    replica = await world.replica(ledger)
    ledger.down = True
    world.api.create(job_seen("x-1"))
    await world.moment()
    replica.cluster.deaf.add("saw_job")
    token = (await world.page()).version + 1
    world.api.change("x-1", token=token, granted_pool="pool", deliveries=1)
    world.api.latency = 5
    relists = replica.cluster.relists
    ledger.down = False
    await world.until(lambda: replica.cluster.relists > relists)
    await world.moment(7.5)
    assert replica.notices.of(Reason.PUT_BACK) == []
    await world.moment(7.5)
    assert len(replica.notices.of(Reason.PUT_BACK)) == 1
    await world.moment(15)
    assert [order.token for order in world.api.orders] == [token + 1]


async def test_a_ledger_that_fails_again_and_again_keeps_no_slot_of_a_refused_start(
    world: World,
) -> None:
    """An earlier start may arrive, but not for ever, however often the ledger is read again."""
    ledger = FlakyLedger(world.ledger)
    world.catalog = catalog(pool(), jobs(2))
    world.api.lose.append("before")
    world.api.denied["bad"] = "by policy"
    world.api.create(job_seen("bad"))
    replica = await world.replica(ledger)
    for number in range(8):
        ledger.lose.append("after")
        world.api.create(job_seen(f"x-{number}"))
        await world.moment(15)
        assert world.started() == [f"x-{number}"]
        world.api.change(f"x-{number}", ended=True)
    assert {notice.job.name for notice in replica.notices.of(Reason.GIVEN_BACK)} == {"bad"}


async def test_a_ledger_that_fails_makes_no_start_doubtful_that_was_not_so_before(
    world: World,
) -> None:
    """x-1 is deleted before its start arrives, so its charge is given back."""
    ledger = FlakyLedger(world.ledger)
    world.catalog = catalog(pool(), jobs(2))
    replica = await world.replica(ledger)
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"))
    await world.moment()
    ledger.lose.append("after")
    world.api.create(job_seen("x-2"))
    await world.moment(5)
    assert [intent.lease.uid for intent in (await world.page()).intents] == ["x-1", "x-2"]
    world.api.delete("x-1")
    world.api.reachable.set()
    await world.moment(5)
    assert world.started() == ["x-2"]
    assert replica.number(GIVEN_BACK, pool="pool") == 1
