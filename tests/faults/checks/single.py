"""I2: a submission has at most one live lease."""

from faults.checks.replay import Cluster
from faults.run import Record
from faults.store import LEDGERS


def single(record: Record) -> list[str]:
    """No Job is started while pods of it live, and no ledger has two grants of one."""
    cluster, found = Cluster(record.options.lease), []
    for change in record.changes:
        grant = cluster.apply(change)
        if grant is not None and cluster.live(grant.uid):
            found.append(f"{grant.uid} starts at {change.at:.2f} s while pods of it live")
        if change.kind == LEDGERS and change.after is not None:
            uids = [one["uid"] for one in change.after.body["spec"].get("intents", ())]
            twice = sorted({uid for uid in uids if uids.count(uid) > 1})
            found += [f"two grants of {uid} in {change.key[1]}" for uid in twice]
    return found
