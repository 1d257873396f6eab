"""Start-time Fair Queuing against caps: Trigger.dev's scenarios, with the numbers they published.

Four slots, a mean hold of 25 ms, a logical clock, the means of three seeds, drawn from the same
random numbers. "age" is a priority of Age alone, "cap" a limit of 2 Jobs for each tenant, "total"
a limit of 2 for all together, "fair" FairShare alone, and "cap, fair" both.

Where their order and ours are the same rule (age, cap, total), the published numbers must come out
as printed. In the fair columns two rules differ by intent: among tenants that are equally due
theirs takes the one that was served last, ours the Job that came first; and theirs moves virtual
time on when it finds no free slot, ours when it grants. A newcomer so meets equals in theirs where
it is due alone in ours. `APART` says how many milliseconds that may make.

What a grant order can't express, and why:
- the column of deficit round robin, and the layer that serves the stalest first (CoDel: 0.104 and
  0.018): other disciplines, which Kwicket does not have. What they found about staleness is tested
  with an Age that outweighs FairShare.
- 7 to 23 % more operations of the store, and latencies end to end (-38 % and +5 %): measured on
  their store and machines, not an order.
"""

from functools import cache
from statistics import mean

import pytest

from kwicket.core.limits import Limit
from kwicket.core.priority import LONGEST_AGE, Age, FairShare, Priority
from support.builders import START, book, jobs, priority, ticket, tickets
from support.rounds import one_by_one
from support.virtual_time import Key, Served, contention, load, mean_wait, play

SEEDS = "seed-a", "seed-b", "seed-c"

SCENARIOS = {
    "ckSkew": [Key("heavy", 240), *(Key(f"light-{n}", 15, rate=10) for n in range(1, 5))],
    "ckTrickle": [Key("bulk", 240), *(Key(f"trickle-{n}", 30, rate=25) for n in (1, 2))],
    "ckSybil": [*(Key(f"heavy-{n}", 15) for n in range(20)), Key("light", 20, rate=40)],
    "ckHeavyIdle": [Key("heavy", 200)],
    "ckBalanced": [Key(f"k-{letter}", 60) for letter in "abcd"],
}
BUSY = "heavy", "bulk"
LIGHT = {"ckSkew": "light-1", "ckTrickle": "trickle-1", "ckSybil": "light"}

AGE, FAIR = priority(Age(1, LONGEST_AGE)), priority(FairShare(1))
CAP = jobs(2, each=True)
COLUMNS: dict[str, tuple[Priority, tuple[Limit, ...]]] = {
    "age": (AGE, (jobs(4),)),
    "cap": (AGE, (jobs(4), CAP)),
    "total": (AGE, (jobs(2),)),
    "fair": (FAIR, (jobs(4),)),
    "cap, fair": (FAIR, (jobs(4), CAP)),
    "old first": (priority(FairShare(1), Age(1000, 10_000)), (jobs(4),)),
    "fair, then old": (priority(FairShare(2), Age(1, 10_000)), (jobs(4),)),
}

WAITS = {
    "ckSkew": {"age": 1098, "cap": 20, "total": 2840, "fair": 14, "cap, fair": 7},
    "ckTrickle": {"age": 1107, "cap": 19, "total": 2852, "fair": 17, "cap, fair": 8},
    "ckSybil": {"age": 1765, "cap": 1776, "total": 3793, "fair": 1009, "cap, fair": 1010},
}
"""The mean wait of the light key in milliseconds, as published."""
APART = {
    ("ckSkew", "fair"): 5,
    ("ckTrickle", "fair"): 5,
    ("ckSybil", "fair"): 66,
    ("ckSkew", "cap, fair"): 2,
    ("ckTrickle", "cap, fair"): 1,
    ("ckSybil", "cap, fair"): 66,
}
"""With two to five keys less than one turn of a slot (25 ms over 4). With 21 keys that are all due
at once, half a round: 21 / 2 turns."""


@cache
def played(scenario: str, column: str) -> list[list[Served]]:
    """The starts of each seed."""
    factors, limits = COLUMNS[column]
    return [play(book(*limits, priority=factors), load(s, SCENARIOS[scenario])) for s in SEEDS]


def wait(scenario: str, column: str) -> float:
    """The light key's mean wait in milliseconds."""
    return mean(mean_wait(served, LIGHT[scenario]) for served in played(scenario, column))


def makespan(scenario: str, column: str) -> float:
    """When the last Job starts, in milliseconds."""
    return mean(served[-1].at for served in played(scenario, column))


def worst(scenario: str, column: str, *, besides: tuple[str, ...] = ()) -> float:
    """The share of the tenant that got least while at least two waited; 1 is even."""
    shares = (contention(served) for served in played(scenario, column))
    return mean(min(got for t, got in seed.items() if t not in besides) for seed in shares)


@pytest.mark.parametrize("column", ["age", "cap", "total"])
@pytest.mark.parametrize("scenario", WAITS)
def test_the_light_key_waits_as_published_where_the_rule_is_the_same(
    scenario: str, column: str
) -> None:
    assert round(wait(scenario, column)) == WAITS[scenario][column]


@pytest.mark.parametrize("column", ["fair", "cap, fair"])
@pytest.mark.parametrize("scenario", WAITS)
def test_the_light_key_waits_as_published_under_fair_queuing(scenario: str, column: str) -> None:
    apart = APART[scenario, column]
    assert wait(scenario, column) == pytest.approx(WAITS[scenario][column], abs=apart)


@pytest.mark.parametrize(
    ("column", "published"),
    [("age", 1240), ("cap", 2507), ("total", 2507), ("fair", 1240), ("cap, fair", 2507)],
)
def test_a_lone_tenant_gets_every_slot_unless_a_limit_says_no(column: str, published: int) -> None:
    """The makespan of ckHeavyIdle: caps waste what nobody else wants, turns do not."""
    assert round(makespan("ckHeavyIdle", column)) == published


@pytest.mark.parametrize(
    ("scenario", "published"), [("ckSkew", 2083), ("ckTrickle", 1942), ("ckSybil", 2065)]
)
def test_fair_queuing_wastes_no_slot(scenario: str, published: int) -> None:
    assert makespan(scenario, "fair") == pytest.approx(published, abs=1.5)


@pytest.mark.parametrize(
    ("scenario", "column", "published"),
    [
        ("ckSkew", "age", 0.187),
        ("ckTrickle", "age", 0.279),
        ("ckSybil", "age", 0.000),
        ("ckBalanced", "age", 0.000),
        ("ckSkew", "cap", 0.814),
        ("ckTrickle", "cap", 0.922),
        ("ckSybil", "cap", 0.403),
        ("ckBalanced", "fair", 0.987),
    ],
)
def test_the_worst_key_gets_the_published_share_while_others_wait(
    scenario: str, column: str, published: float
) -> None:
    assert round(worst(scenario, column), 3) == published


@pytest.mark.parametrize(
    ("scenario", "published"), [("ckSkew", 0.723), ("ckTrickle", 0.909), ("ckSybil", 1.000)]
)
def test_no_light_key_gets_less_than_published_under_fair_queuing(
    scenario: str, published: float
) -> None:
    """To 7 %: one start of the 15 in which the light key of ckSybil contends.

    The busy key does not count. In ckTrickle two keys seldom wait at one moment, since light Jobs
    start so soon, and when they do it is nearly always the light one's turn: of those few starts
    the busy key gets less than an even part, and all the others.
    """
    assert worst(scenario, "fair", besides=BUSY) > published - 0.07


def test_an_age_that_outweighs_the_turn_gives_the_slots_back_to_the_old_backlog() -> None:
    """Boosting what is stale across tenants is age order again, and starves the light key."""
    assert wait("ckSkew", "old first") == pytest.approx(WAITS["ckSkew"]["age"], rel=0.1)


def test_an_age_that_the_turn_outweighs_leaves_turns_alone() -> None:
    assert played("ckSkew", "fair, then old") == played("ckSkew", "fair")


STEPS = 4
"""In the real batched path a Job held the only slot for three steps, and one passed to the next."""


@pytest.mark.parametrize(
    ("factors", "first", "p95", "jain"), [(AGE, 480, 628, "0.34"), (FAIR, 4, 188, "1.00")]
)
def test_turns_on_the_real_batched_path(factors: Priority, first: int, p95: int, jain: str) -> None:
    """120 Jobs of one key, then 4 keys of 10: when light Jobs start, in steps, and Jain's index."""
    waiting = tickets("heavy", 120)
    for place in range(40):
        number, key = divmod(place, 4)
        waiting.append(ticket(f"light{key}-{number}", f"light{key}", submitted=START + 1 + place))
    order = one_by_one(book(waiting=waiting, priority=factors), 160, now=START + 50)
    light = [place * STEPS for place, tenant in enumerate(order) if tenant != "heavy"]
    assert (light[0], light[37]) == (first, p95)
    assert f"{_jain(_contended(order)):.2f}" == jain
    assert len(order) == 160
    assert (len(order) - 1) * STEPS == 636


def _contended(order: list[str]) -> list[int]:
    """The starts of each tenant while at least two had Jobs waiting."""
    last = next(n for n in range(len(order)) if len(set(order[n:])) == 1)
    return [order[:last].count(tenant) for tenant in set(order)]


def _jain(parts: list[int]) -> float:
    return sum(parts) ** 2 / (len(parts) * sum(part**2 for part in parts))
