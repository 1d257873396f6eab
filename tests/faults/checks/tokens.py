"""I3: the tokens of a pool strictly increase, whatever becomes of its ledger."""

from faults.checks.replay import intents
from faults.run import Record
from faults.server import token_of
from faults.store import JOBS, PODS


def tokens(record: Record) -> list[str]:
    """In the order of the commits; on each Job; and as the pods of each Job saw them."""
    return _of_ledgers(record) + _of_jobs(record) + _of_pods(record)


def _of_ledgers(record: Record) -> list[str]:
    """In one commit the grants stand in the order of their tokens, as they were decided."""
    highest, found = 0, []
    for one in intents(record):
        if one.token <= highest:
            found.append(f"token {one.token} of {one.uid} after {highest}")
        highest = max(highest, one.token)
    return found


def _of_jobs(record: Record) -> list[str]:
    found, owners = [], dict[int, str]()
    for change in record.kind(JOBS):
        if change.after is None or not (token := token_of(change.after.body)):
            continue
        uid = change.after.body["metadata"]["uid"]
        if change.before is not None and token < token_of(change.before.body):
            found.append(f"the token of {uid} falls to {token}")
        if owners.setdefault(token, uid) != uid:
            found.append(f"token {token} is on {uid} and on {owners[token]}")
    return found


def _of_pods(record: Record) -> list[str]:
    found, last = [], dict[str, int]()
    for change in record.kind(PODS):
        if change.before is None and change.after is not None:
            name = change.after.body["metadata"]["name"].rpartition("-")[0]
            token = token_of(change.after.body)
            if token < last.get(name, 0):
                found.append(f"a pod of {name} sees {token} after {last[name]}")
            last[name] = max(token, last.get(name, 0))
    return found
