"""Histories and worlds for the simulator; times in seconds, as a reader thinks of them."""

import random
from collections.abc import Sequence
from typing import Any

from kwicket.core.limits import Limit
from kwicket.core.pools import Lane, Pool
from kwicket.sim.arrivals import Arrival
from kwicket.sim.run import Grant, Run, run
from kwicket.sim.worlds import World
from support.builders import catalog


def arrival(
    name: str = "x-0", tenant: str = "alice", at: float = 0, runs: float = 10, **fields: Any
) -> Arrival:
    """A Job of the pool `pool`."""
    fields = {"pool": "pool"} | fields
    return Arrival(name, tenant, int(at * 1000), int(runs * 1000), **fields)


def flood(tenant: str, count: int, **fields: Any) -> list[Arrival]:
    """Jobs `tenant-0`, `tenant-1`, … at one moment."""
    return [arrival(f"{tenant}-{number}", tenant, **fields) for number in range(count)]


def world(*declared: Pool | Lane | Limit, name: str = "rules", oracle: bool = False) -> World:
    """A world of these; a Pool `pool` if none is among them."""
    if not any(isinstance(one, Pool) for one in declared):
        declared = (Pool("pool"), *declared)
    return World(name, catalog(*declared), oracle)


def started(arrivals: Sequence[Arrival], *declared: Pool | Lane | Limit) -> list[tuple[float, str]]:
    """When each Job starts, in seconds, in the order of the grants."""
    return [(at(grant), grant.arrival.name) for grant in run(world(*declared), arrivals).grants]


def at(grant: Grant) -> float:
    """When it started, in seconds."""
    return grant.at / 1000


def most_at_once(of: Run) -> int:
    """How many Jobs ran at one moment at most; one that ends makes room at that moment."""
    steps = sorted(step for grant in of.grants for step in ((grant.at, 1, 1), (grant.end, 0, -1)))
    running, most = 0, 0
    for _, _, change in steps:
        running += change
        most = max(most, running)
    return most


def day(seed: int, jobs: int = 300) -> list[Arrival]:
    """Jobs in bursts, of a few tenants with many and many with few, as real traces have them.

    Mostly short, some very long, each tenant with times of its own; about as much as four slots
    can do, all of it while it comes.
    """
    dice = random.Random(seed)  # noqa: S311
    found: list[Arrival] = []
    while len(found) < jobs:
        tenant = f"user-{min(int(dice.paretovariate(0.6)), 12)}"
        usual = 20 * (1 + sum(map(ord, tenant)) % 7)
        begin = dice.uniform(0, 60 * jobs / 4)
        for _ in range(min(dice.choice([1, 1, 2, 30]), jobs - len(found))):
            runs = usual * dice.lognormvariate(0, 0.6)
            found.append(arrival(f"j-{len(found)}", tenant, begin, runs))
    return sorted(found, key=lambda one: one.at)


def swf_line(ident: int | str, submit: float | str, run_time: float | str, user: int | str) -> str:
    """A line of a trace."""
    return f"{ident} {submit} -1 {run_time} 4 -1 -1 4 -1 -1 1 {user} -1 -1 -1 -1 -1 -1"
