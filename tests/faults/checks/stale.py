"""I7: a stale writer changes nothing.

A Job is started only by a grant that the ledger has at that moment: not by one that was given back,
nor by one that nobody has committed. A ledger that is gone proves nothing.
"""

from ..run import Record
from .replay import Cluster, Grant, intents


def stale(record: Record) -> list[str]:
    """Judges each start by the page that is stored then."""
    cluster, committed = Cluster(), {one.token: one for one in intents(record)}
    found = []
    for change in record.changes:
        grant = cluster.apply(change)
        if grant is None:
            continue
        if grant.token not in committed or committed[grant.token].uid != grant.uid:
            found.append(f"{grant.uid} starts with {grant.token}, which no ledger has granted it")
        elif not _kept(cluster, grant):
            found.append(f"{grant.uid} starts with {grant.token}, which was given back")
    return found


def _kept(cluster: Cluster, grant: Grant) -> bool:
    pages = [page["spec"] for page in cluster.ledgers.values()]
    if not pages or all(int(page["version"]) < grant.token for page in pages):
        return True
    return any(
        int(intent["token"]) == grant.token for page in pages for intent in page.get("intents", ())
    )
