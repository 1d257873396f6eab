"""Scenario files for the tests of `kwicket simulate`."""

POOL = """
apiVersion: kwicket.dev/v1alpha1
kind: Pool
metadata: {name: gpus}
spec: {default: true}
"""
LANE = """
apiVersion: kwicket.dev/v1alpha1
kind: Lane
metadata: {name: quick}
spec: {pool: gpus}
"""
LIMIT = """
apiVersion: kwicket.dev/v1alpha1
kind: Limit
metadata: {name: one}
spec: {pool: gpus, concurrency: {jobs: 1}}
"""
JOBS = """
kind: Scenario
jobs:
- {name: a, tenant: alice, count: 3, runs: 10s}
- {name: c, tenant: carol, at: 1s, runs: 5s, traits: {tier: 0.5}}
"""


def file_of(*texts: str) -> str:
    """One file of these documents."""
    return "---\n".join(text.removeprefix("\n") for text in texts)


SCENARIO = file_of(POOL, LANE, LIMIT, JOBS)
