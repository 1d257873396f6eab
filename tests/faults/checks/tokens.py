"""I3: the tokens of a pool strictly increase, whatever becomes of its ledger."""

from itertools import groupby

from faults.checks.replay import intents, pool_of
from faults.run import Record
from faults.server import token_of
from faults.shared.database import FAILOVER
from faults.shared.restore import RESTORED
from faults.store import JOBS, PODS


def tokens(record: Record) -> list[str]:
    """In the order of the commits; on each Job; and as the pods of each Job saw them."""
    return _of_ledgers(record) + _of_jobs(record) + _of_pods(record)


def _of_ledgers(record: Record) -> list[str]:
    """In one commit the grants stand in the order of their tokens, as they were decided.

    A failover may have lost some, which nobody need know of that have reached no Job.
    """
    last, found = dict[str, int](), []
    granted = groupby(intents(record), key=lambda one: one.change.version)
    grants = {version: list(ones) for version, ones in granted}
    on_jobs = dict[str, int]()
    for change in record.changes:
        if change.kind == JOBS and change.after is not None:
            pool = pool_of(change.after.body)
            on_jobs[pool] = max(on_jobs.get(pool, 0), token_of(change.after.body))
        elif change.by == FAILOVER and change.after is not None:
            pool, kept = change.key[1], int(change.after.body["spec"]["version"])
            last[pool] = max(on_jobs.get(pool, 0), kept)
        for one in grants.get(change.version, ()):
            highest = last.get(one.pool, 0)
            if one.token <= highest:
                found.append(f"token {one.token} of {one.uid} after {highest}")
            last[one.pool] = max(highest, one.token)
    return found


def _of_jobs(record: Record) -> list[str]:
    found, owners = [], dict[tuple[str, int], str]()
    for change in record.kind(JOBS):
        if (
            change.by == RESTORED
            or change.after is None
            or not (token := token_of(change.after.body))
        ):
            continue
        uid = change.after.body["metadata"]["uid"]
        if change.before is not None and token < token_of(change.before.body):
            found.append(f"the token of {uid} falls to {token}")
        owner = owners.setdefault((pool_of(change.after.body), token), uid)
        if owner != uid:
            found.append(f"token {token} is on {uid} and on {owner}")
    return found


def _of_pods(record: Record) -> list[str]:
    found, last = [], dict[str, int]()
    for change in record.kind(PODS):
        if change.by != RESTORED and change.before is None and change.after is not None:
            name = change.after.body["metadata"]["name"].rpartition("-")[0]
            token = token_of(change.after.body)
            if token < last.get(name, 0):
                found.append(f"a pod of {name} sees {token} after {last[name]}")
            last[name] = max(token, last.get(name, 0))
    return found
