"""Nothing is moved beside an operator, nor while anything that one has sent is on its way."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.engine.sent import LONGEST_WAY
from kwicket.kube.leaders import Lead
from kwicket.kube.lease import Record
from kwicket.kube.quiet import LOOK, QUIET, Signs, at_work

LEADER = Lead("here", True, Record("kwicket-1", 15, "then"))
UNELECTED = Lead("here", False, Record("laptop", 15, "then"))


class Scene:
    """What there is to see; it changes by itself."""

    def __init__(self, signs: Signs, after: float, change: Callable[[Signs], Signs]) -> None:
        self.signs = signs
        asyncio.get_running_loop().call_later(after, self._change, change)

    def _change(self, change: Callable[[Signs], Signs]) -> None:
        self.signs = change(self.signs)

    async def look(self) -> Signs:
        return self.signs


def said(lead: Lead, **fields: Any) -> Lead:
    return replace(lead, said=replace(lead.said, **fields))


async def seconds(scene: Scene) -> float:
    """How long it takes to find that nobody is at work."""
    begun = asyncio.get_running_loop().time()
    assert await at_work(scene.look) is None
    return asyncio.get_running_loop().time() - begun


def renewed(lead: Lead) -> Callable[[Signs], Signs]:
    return lambda signs: replace(signs, leads={"lease": said(lead, renewed="now")})


async def test_it_takes_as_long_as_a_start_may_be_on_its_way() -> None:
    scene = Scene(Signs(), 0, lambda signs: signs)
    assert await seconds(scene) == pytest.approx(LONGEST_WAY)


@pytest.mark.parametrize("lead", [LEADER, UNELECTED])
async def test_a_lease_of_an_operator_that_is_gone_stops_nobody(lead: Lead) -> None:
    scene = Scene(Signs(leads={"lease": lead}), 0, lambda signs: signs)
    assert await seconds(scene) == pytest.approx(QUIET)


@pytest.mark.parametrize(
    ("lead", "words"),
    [
        (LEADER, "kwicket-1 leads in namespace here: kubectl -n here scale deployment kwicket"),
        (LEADER, "where no operator is, end who writes the Lease here/kwicket, or take the right"),
        (UNELECTED, "end who writes the Lease here/kwicket-unelected, or take the right"),
        (UNELECTED, "laptop works in namespace here without an election: end that process"),
    ],
)
async def test_a_lease_that_is_renewed_is_of_one_that_is_at_work(lead: Lead, words: str) -> None:
    scene = Scene(Signs(leads={"lease": lead}), QUIET - 1, renewed(lead))
    assert words in str(await at_work(scene.look))


async def test_an_operator_that_begins_meanwhile_is_at_work() -> None:
    scene = Scene(Signs(), QUIET - 1, renewed(UNELECTED))
    assert "laptop" in str(await at_work(scene.look))


async def test_who_has_just_ended_is_waited_for_as_long_again() -> None:
    """What it has sent right before may still arrive."""
    scene = Scene(
        Signs(leads={"lease": LEADER}),
        50,
        lambda signs: replace(signs, leads={"lease": said(LEADER, holder="", duration=1)}),
    )
    assert 50 + QUIET - LOOK <= await seconds(scene) <= 50 + QUIET + LOOK


async def test_a_ledger_that_is_written_is_a_sign_of_life_too() -> None:
    scene = Scene(Signs(ledgers={"gpus": "7"}), 60, lambda _: Signs(ledgers={"gpus": "8"}))
    assert "somebody writes the Ledger gpus" in str(await at_work(scene.look))


async def test_a_sign_of_life_in_postgresql_is_one() -> None:
    scene = Scene(Signs(alive={"gpus": "7.5"}), 60, lambda _: Signs(alive={"gpus": "8.5"}))
    assert "signs of life in pool gpus" in str(await at_work(scene.look))
