"""The oracle: with run times known at the start, nothing is left to settle."""

from kwicket.core.book import Book
from kwicket.core.decide import decide
from kwicket.core.pools import Charging, Pool
from kwicket.core.state import State
from kwicket.sim.oracle import charge_truly
from kwicket.sim.run import run
from kwicket.sim.waits import lighter_half, waits_of
from support.builders import START, jobs, rules, ticket
from support.simulation import day, flood, world

TIMED = Pool("pool", charging=Charging.TIME)


def test_a_job_is_charged_what_it_will_run_and_settling_it_moves_nothing() -> None:
    book = Book(rules(charging=Charging.TIME), State(1))
    book.submit(ticket("x-1"))
    [intent] = decide(book, START).grants
    charge_truly(book, intent, 90_000)
    charged = book.state()
    assert charged.fairness.tags == {"alice": 90_000 * charged.fairness.scale}
    assert [charge.amount for charge in charged.charges] == [90_000]
    book.forget("x-1", at=START + 90_000)
    assert book.state().fairness == charged.fairness


def test_a_job_shorter_than_the_guess_leaves_no_credit() -> None:
    book = Book(rules(charging=Charging.TIME), State(1))
    book.submit(ticket("x-1"))
    [intent] = decide(book, START).grants
    charge_truly(book, intent, 500)
    assert book.state().fairness.tags == {"alice": 500 * book.state().fairness.scale}
    assert book.state().fairness.credits == {}


def test_a_pool_that_charges_starts_is_the_same_with_it() -> None:
    limits = jobs(4)
    plain, knowing = world(limits), world(limits, oracle=True)
    assert run(plain, day(1)).grants == run(knowing, day(1)).grants


def test_turns_go_by_true_time_from_the_first_job_on() -> None:
    """alice's Jobs run three times as long as bob's, so bob gets three for one of hers."""
    history = flood("alice", 8, runs=30) + flood("bob", 24, runs=10)
    grants = run(world(TIMED, jobs(1), oracle=True), history).grants
    order = [grant.arrival.tenant for grant in grants[:16]]
    assert order.count("bob") == 12


def test_guessing_costs_the_lighter_half_little_beside_knowing() -> None:
    """As on the real traces: charged by starts they wait longer."""
    worlds = {
        "guess": world(TIMED, jobs(4)),
        "oracle": world(TIMED, jobs(4), oracle=True),
        "starts": world(jobs(4)),
    }
    means = {}
    for name, one in worlds.items():
        runs = [run(one, day(seed)) for seed in range(6)]
        means[name] = sum(waits_of(lighter_half(found.grants)).mean for found in runs)
    assert means["guess"] <= 1.5 * means["oracle"]
    assert means["starts"] >= 1.2 * means["guess"]
