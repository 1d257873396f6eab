"""A wide Job takes its turn when it comes, and starts when there is room, whatever is between."""

import pytest
from structlog.testing import capture_logs

from kwicket.core.pools import Charging
from kwicket.core.reasons import Reason
from support.builders import START, catalog, job_seen, pods, pool
from support.fakes import FlakyLedger
from support.world import World


@pytest.fixture
async def wide(world: World) -> World:
    """Two pods run at most; alice's r-1 does, and then bob's w-1 of two pods comes, then x-1."""
    world.catalog = catalog(pool(), pods(2))
    world.api.create(job_seen("r-1"))
    return world


async def arrive(world: World) -> None:
    world.api.create(job_seen("w-1", "bob", parallelism=2, created=START + 1))
    await world.moment()
    world.api.create(job_seen("x-1", created=START + 2))
    await world.moment()


async def end(world: World, name: str) -> None:
    world.api.change(name, ended=True)
    await world.moment()


async def test_its_turn_is_in_the_ledger_at_once(wide: World) -> None:
    await wide.replica()
    await arrive(wide)
    page = await wide.page()
    [reservation] = page.reservations
    assert (reservation.uid, reservation.width, reservation.charge) == ("w-1", 2, 1)
    assert page.version == wide.job("r-1").token
    assert wide.started() == ["r-1"]


async def test_it_starts_before_what_came_after_it(wide: World) -> None:
    await wide.replica()
    await arrive(wide)
    await end(wide, "r-1")
    assert wide.started() == ["w-1"]
    assert (await wide.page()).reservations == ()
    await end(wide, "w-1")
    assert wide.started() == ["x-1"]


async def test_its_turn_survives_a_restart(wide: World) -> None:
    """x-1 would fit at once, and comes first by name and by its tenant's turn."""
    first = await wide.replica()
    await arrive(wide)
    before = await wide.page()
    await first.crash()
    await wide.replica()
    await wide.moment(2)
    assert wide.started() == ["r-1"]
    page = await wide.page()
    assert (page.reservations, page.fairness) == (before.reservations, before.fairness)
    await end(wide, "r-1")
    assert wide.started() == ["w-1"]


async def test_its_turn_survives_a_conflict_that_takes_its_start_back(wide: World) -> None:
    """It was about to start when the ledger did not answer; the turn had been taken before."""
    ledger = FlakyLedger(wide.ledger)
    await wide.replica(ledger)
    await arrive(wide)
    before = await wide.page()
    ledger.down = True
    await end(wide, "r-1")
    assert [one.uid for one in (await wide.page()).reservations] == ["w-1"]
    ledger.down = False
    await wide.until(lambda: wide.started() == ["w-1"])
    page = await wide.page()
    assert (page.fairness, page.reservations) == (before.fairness, ())


async def test_a_turn_that_the_ledger_did_not_hear_of_is_taken_once(wide: World) -> None:
    ledger = FlakyLedger(wide.ledger)
    await wide.replica(ledger)
    ledger.down = True
    wide.api.create(job_seen("w-1", "bob", parallelism=2, created=START + 1))
    await wide.moment(10)
    assert (await wide.page()).reservations == ()
    ledger.down = False
    await wide.moment(60)
    page = await wide.page()
    assert [one.uid for one in page.reservations] == ["w-1"]
    assert page.fairness.tags["bob"] == page.fairness.scale


@pytest.mark.parametrize("how", ["deleted", "held"])
async def test_the_room_that_was_kept_is_free_again_when_it_goes(wide: World, how: str) -> None:
    await wide.replica()
    await arrive(wide)
    assert wide.started() == ["r-1"]
    if how == "deleted":
        wide.api.delete("w-1")
    else:
        wide.api.change("w-1", held=True)
    await wide.moment()
    assert wide.started() == ["r-1", "x-1"]
    assert (await wide.page()).reservations == ()


async def test_one_that_goes_while_nobody_watches_keeps_no_room(wide: World) -> None:
    first = await wide.replica()
    await arrive(wide)
    await first.crash()
    wide.api.delete("w-1")
    await wide.replica()
    await wide.moment(2)
    assert wide.started() == ["r-1", "x-1"]
    assert (await wide.page()).reservations == ()


async def test_under_time_what_it_was_charged_at_its_turn_is_on_the_job(wide: World) -> None:
    wide.catalog = catalog(pool(charging=Charging.TIME), pods(2))
    await wide.replica()
    await arrive(wide)
    await wide.moment(20)
    assert {one.charge for one in (await wide.page()).reservations} == {120_000}
    await end(wide, "r-1")
    assert wide.started() == ["w-1"]
    assert wide.api.orders[-1].charged == "120000"


async def test_its_author_is_told_once_and_the_log_says_so(wide: World) -> None:
    with capture_logs() as logs:
        replica = await wide.replica()
        await arrive(wide)
        await wide.moment(5)
    [notice] = replica.notices.of(Reason.TURN_TAKEN)
    assert notice.job.uid == "w-1"
    assert notice.sentence.endswith("as soon as there is room for all of its 2 pods")
    [line] = [line for line in logs if line["event"] == "reserved"]
    del line["log_level"], line["event"]
    assert line == {
        "pool": "pool",
        "job": "team/w-1",
        "uid": "w-1",
        "tenant": "bob",
        "lane": "",
        "width": 2,
    }


async def test_whoever_would_fit_is_told_for_whom_room_is_kept(wide: World) -> None:
    replica = await wide.replica()
    await arrive(wide)
    await wide.moment(3)
    told = {notice.job.uid: notice.sentence for notice in replica.notices.of(Reason.QUEUED)}
    assert told["w-1"].startswith("waits in pool pool at position 1: its turn has come")
    assert told["x-1"] == (
        "waits in pool pool at position 2: room is being kept for the 2 pods of team/w-1, whose"
        " turn came before"
    )
