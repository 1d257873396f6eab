"""Clusters that declare a shared pool differently are told so, and nothing is stopped."""

import pytest
from msgspec.structs import replace

from kwicket.core.catalog import Catalog
from kwicket.core.priority import FairShare, Priority, Trait
from kwicket.engine.sharing import BEAT
from support.builders import catalog, jobs, pool
from support.clusters import ClusterWorld
from support.world import Replica

LONG = 3 * BEAT


def says(replica: Replica) -> str | None:
    """What the condition says; None if there is none."""
    _, conditions = replica.notices.pools["pool"]
    found = [one.message for one in conditions if one.kind == "RulesDiffer"]
    assert replica.number("kwicket_differing_clusters", pool="pool") == len(found)
    return found[0] if found else None


SHARES = {"alice": 2, "bob": 3}
DECLARED = catalog(pool(shares=SHARES, priority=Priority((FairShare(2), Trait("t", 1)))), jobs(3))
ALIKE = [
    catalog(pool(shares=SHARES, priority=Priority((Trait("t", 1), FairShare(2)))), jobs(3)),
    catalog(
        pool(
            shares=dict(reversed(SHARES.items())),
            priority=Priority((FairShare(2), Trait("t", 1))),
            paused=True,
            default=True,
            created=5,
            above=7,
        ),
        jobs(3),
    ),
]
OTHERWISE = [
    catalog(replace(DECLARED.pools["pool"], shares={"alice": 2}), jobs(3)),
    catalog(replace(DECLARED.pools["pool"], priority=Priority()), jobs(3)),
    catalog(DECLARED.pools["pool"], jobs(4)),
    catalog(DECLARED.pools["pool"]),
]


@pytest.mark.parametrize("other", OTHERWISE, ids=["shares", "priority", "limit", "no limit"])
async def test_a_pool_that_another_cluster_declares_otherwise_says_so_until_they_are_alike(
    east: ClusterWorld, west: ClusterWorld, other: Catalog
) -> None:
    east.catalog, west.catalog = DECLARED, other
    first, second = await east.replica(), await west.replica()
    await east.moment(LONG)
    assert "otherwise in west," in (says(first) or "")
    assert "otherwise in east," in (says(second) or "")
    await west.declare(DECLARED)
    await east.moment(LONG)
    assert says(first) is says(second) is None


@pytest.mark.parametrize("other", ALIKE, ids=["order", "what concerns one cluster alone"])
async def test_what_decides_nothing_for_others_may_differ(
    east: ClusterWorld, west: ClusterWorld, other: Catalog
) -> None:
    east.catalog, west.catalog = DECLARED, other
    first, second = await east.replica(), await west.replica()
    await east.moment(LONG)
    assert says(first) is says(second) is None


async def test_a_cluster_that_is_silent_is_not_compared_with(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    east.catalog, west.catalog = DECLARED, OTHERWISE[0]
    first, second = await east.replica(), await west.replica()
    await second.crash()
    await east.moment(60)
    assert says(first) is None
