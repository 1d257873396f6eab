"""A committed grant reaches its Job once, or is given back."""

from kwicket.core.reasons import Reason
from support.builders import START, catalog, fairness, job_seen, jobs, pool, rate
from support.world import World


async def test_a_waiting_job_is_started_with_a_token_and_its_pool(world: World) -> None:
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    job = world.job("x-1")
    assert (job.suspended, job.granted_pool, job.deliveries) == (False, "pool", 1)
    assert job.token == (await world.page()).version
    [notice] = replica.notices.of(Reason.GRANTED)
    assert notice.sentence == f"started by pool pool with token {job.token} after waiting 0s"


async def test_the_order_says_what_was_decided(world: World) -> None:
    world.catalog = catalog(pool(shares={"alice": 4}), jobs(1))
    world.api.create(job_seen("x-1"))
    await world.replica()
    [order] = world.api.orders
    assert (order.pool, order.lane, order.charged) == ("pool", "", "1")
    assert (order.job.uid, order.token) == ("x-1", world.job("x-1").token)
    assert START <= order.granted_at <= world.clock.now()


async def test_jobs_start_one_after_the_other_as_slots_come_free(world: World) -> None:
    world.api.create(*[job_seen(f"a-{n}") for n in range(3)], job_seen("c-1", "carol"))
    await world.replica()
    order = []
    for _ in range(4):
        [name] = world.started()
        order.append(name)
        world.api.change(name, ended=True)
        await world.moment()
    assert order == ["a-0", "c-1", "a-1", "a-2"]


async def test_a_lost_answer_is_read_back_and_never_doubled(world: World) -> None:
    world.api.lose.append("after")
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    replica.cluster.deaf.add("saw_job")
    world.api.reachable.set()
    await world.moment(5)
    assert [order.job.uid for order in world.api.orders] == ["x-1"]
    assert world.job("x-1").deliveries == 1
    assert (await world.page()).intents == ()


async def test_a_lost_answer_whose_event_comes_first_is_not_sent_again(world: World) -> None:
    world.api.lose.append("after")
    world.api.create(job_seen("x-1"))
    await world.replica()
    await world.moment(5)
    assert len(world.api.orders) == 1
    assert (await world.page()).intents == ()


async def test_a_write_that_never_arrived_is_sent_again_with_the_same_token(world: World) -> None:
    world.api.lose.extend(["before", "before"])
    world.api.create(job_seen("x-1"))
    await world.replica()
    token = (await world.page()).intents[0].lease.token
    await world.until(lambda: not world.job("x-1").suspended)
    assert world.job("x-1").token == token == (await world.page()).version


async def test_a_job_that_changed_meanwhile_is_read_and_sent_the_same_token(world: World) -> None:
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    replica.cluster.deaf.add("saw_job")
    world.api.change("x-1", settled=True)
    world.api.reachable.set()
    await world.moment()
    stale, fresh = world.api.orders
    assert int(stale.job.version) < int(fresh.job.version)
    assert stale.token == fresh.token == world.job("x-1").token


async def test_a_job_deleted_before_its_start_gives_back_slot_and_charge(world: World) -> None:
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"))
    await world.replica()
    assert (await world.page()).fairness == fairness(0, {"alice": 1})
    world.api.create(job_seen("x-2", created=START + 1))
    await world.moment()
    world.api.delete("x-1")
    world.api.reachable.set()
    await world.moment()
    assert world.started() == ["x-2"]
    assert (await world.page()).fairness == fairness(0, {"alice": 1})
    await world.moment(3)
    assert (await world.page()).intents == ()


async def test_a_job_made_anew_under_its_name_is_not_started_by_the_old_grant(world: World) -> None:
    world.api.reachable.clear()
    world.api.create(job_seen("x-1", uid="old"))
    await world.replica()
    world.api.delete("old")
    world.api.create(job_seen("x-1", uid="new", created=START + 5))
    await world.moment()
    world.api.reachable.set()
    await world.moment()
    [written] = world.api.written
    assert written.job.uid == "new"
    assert written.token == (await world.page()).version


async def test_a_job_held_before_its_start_goes_back_to_its_place(world: World) -> None:
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    world.api.change("x-1", held=True)
    world.api.create(job_seen("x-2", created=START + 1))
    await world.moment()
    world.api.reachable.set()
    await world.moment()
    assert world.started() == ["x-2"]
    [notice] = replica.notices.of(Reason.GIVEN_BACK)
    assert notice.sentence.endswith("was given back: its author holds it")
    world.api.change("x-2", ended=True)
    world.api.change("x-1", held=False)
    await world.moment()
    assert world.started() == ["x-1"]


async def test_a_job_that_may_not_start_blocks_nobody_and_is_not_tried_in_a_loop(
    world: World,
) -> None:
    """Its start is refused by somebody's policy: it is due, and yet the others go on."""
    world.api.denied["bad"] = "by policy"
    world.api.create(
        job_seen("bad", "carol", created=START - 1), *[job_seen(f"a-{n}") for n in range(3)]
    )
    replica = await world.replica()
    await world.moment(5)
    assert world.started() == ["a-0"]
    tries = [order for order in world.api.orders if order.job.name == "bad"]
    assert len(tries) == 1
    assert "by policy" in replica.notices.of(Reason.GIVEN_BACK)[0].sentence
    world.api.denied.clear()
    for name in ("a-0", "a-1", "a-2"):
        world.api.change(name, ended=True)
    await world.until(lambda: "bad" in world.started(), seconds=1200)


async def test_a_refused_start_keeps_its_slot_while_an_earlier_one_may_still_arrive(
    world: World,
) -> None:
    """It was sent and not answered: it may be applied when its slot had gone to another."""
    world.api.lose.append("before")
    world.api.denied["bad"] = "by policy"
    world.api.create(job_seen("bad", "carol", created=START - 1), job_seen("a-0"))
    await world.replica()
    await world.moment(70)
    assert world.started() == []
    await world.moment(30)
    assert world.started() == ["a-0"]


async def test_no_more_than_16_writes_of_a_pool_are_in_flight(world: World) -> None:
    world.catalog = catalog(pool())
    world.api.latency = 0.05
    world.api.create(*[job_seen(f"x-{n}") for n in range(100)])
    await world.replica()
    await world.until(lambda: len(world.started()) == 100)
    assert world.api.most_in_flight == 16
    assert len({order.token for order in world.api.written}) == 100


async def test_a_pool_does_not_decide_far_ahead_of_its_writes(world: World) -> None:
    """Two turns' writes are on their way and one more is decided: the ledger stays small."""
    world.catalog = catalog(pool())
    world.api.reachable.clear()
    world.api.create(*[job_seen(f"x-{n}") for n in range(100)])
    await world.replica()
    await world.moment(30)
    assert (len((await world.page()).intents), world.api.most_in_flight) == (48, 16)
    world.api.reachable.set()
    await world.until(lambda: len(world.started()) == 100)


async def test_an_acknowledged_grant_leaves_the_ledger_after_a_quiet_second(world: World) -> None:
    world.api.create(job_seen("x-1"))
    await world.replica()
    assert [i.lease.uid for i in (await world.page()).intents] == ["x-1"]
    await world.moment(1)
    page = await world.page()
    assert (page.intents, page.version) == ((), world.job("x-1").token)


async def test_an_acknowledged_grant_leaves_the_ledger_with_the_next_commit(world: World) -> None:
    world.catalog = catalog(pool(), jobs(2))
    world.api.create(job_seen("x-1"))
    await world.replica()
    world.api.create(job_seen("x-2"))
    await world.moment()
    assert [i.lease.uid for i in (await world.page()).intents] == ["x-2"]


async def test_a_rate_opens_by_itself(world: World) -> None:
    """Nobody has to touch anything for the second Job to start when the window has moved on."""
    world.catalog = catalog(pool(), rate(1, 60_000))
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    await world.replica()
    await world.moment(59)
    assert world.started() == ["x-1"]
    await world.moment(2)
    assert world.started() == ["x-1", "x-2"]
    first, second = world.api.written
    assert second.granted_at >= first.granted_at + 60_000
