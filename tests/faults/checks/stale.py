"""I7: a stale writer changes nothing.

A Job is started only by a grant that the ledger has at that moment: not by one that was given back,
nor by one that nobody has committed. A ledger that is gone, or went back, proves nothing. And only
as what was decided on is it started: not once its author holds it, nor when it is on its way out.
"""

from faults.checks.replay import Cluster, Grant, intents
from faults.run import Record
from faults.shared.database import FAILOVER
from faults.store import Body, Change


def stale(record: Record) -> list[str]:
    """Judges each start by the page that is stored then."""
    cluster, committed = Cluster(), {(one.pool, one.token): one for one in intents(record)}
    found, lost = [], set[int]()
    for change in record.changes:
        grant = cluster.apply(change)
        lost |= _lost(change)
        if grant is None:
            continue
        intent = committed.get((grant.pool, grant.token))
        if intent is None or intent.uid != grant.uid:
            found.append(f"{grant.uid} starts with {grant.token}, which no ledger has granted it")
        elif grant.token not in lost and not _kept(cluster, grant):
            found.append(f"{grant.uid} starts with {grant.token}, which was given back")
        if change.before is not None and (why := _changed(change.before.body)):
            found.append(f"{grant.uid} starts at {change.at:.2f} s though {why}")
    return found


def _lost(change: Change) -> set[int]:
    """The tokens of grants that a failover has lost; what was sent of them may arrive."""
    if change.by != FAILOVER or change.before is None:
        return set()
    return {int(one["token"]) for one in change.before.body["spec"].get("intents", ())}


def _changed(job: Body) -> str:
    """Why this version of a Job must not be started; empty if it may."""
    metadata = job["metadata"]
    if metadata["labels"].get("kwicket.dev/hold") == "true":
        return "its author holds it"
    return "it is being deleted" if "deletionTimestamp" in metadata else ""


def _kept(cluster: Cluster, grant: Grant) -> bool:
    pages = [page["spec"] for name, page in cluster.ledgers.items() if name == grant.pool]
    if not pages or all(int(page["version"]) < grant.token for page in pages):
        return True
    return any(
        int(intent["token"]) == grant.token for page in pages for intent in page.get("intents", ())
    )
