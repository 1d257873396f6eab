"""The matrix: every row that needs neither a real process nor a database."""

from faults.options import Edit, Fault, Options, Work
from faults.rows.row import BEGIN, LEADER, OTHER, Row, at, first, last_write, scenario
from faults.run import Record
from faults.store import JOBS, NODES, PODS, Change
from kwicket.engine.audit import EVERY

HOUR = 3_600_000
LONG = Work("j-0", "team-a", "alice", 0, 120)
"""Keeps the only slot."""


def both(begin: float, seconds: float, what: str, *kinds: str, amount: float = 0) -> list[Fault]:
    """The same fault of both operators."""
    return [Fault(begin, seconds, what, where, kinds, amount) for where in ("a", "b")]


def _killed_at(write: int) -> Options:
    return scenario(10.5, Fault(10, 60, "kill-at-write", LEADER, amount=write))


def _pods_end(record: Record) -> float:
    """When the pod that a deleted Job left behind ends."""
    ends = first(record, lambda c: c.kind == PODS and _phase(c) == "Succeeded" and c.at > 10)
    return ends.at if ends else 0


def _phase(change: object) -> str:
    after = getattr(change, "after", None)
    return "" if after is None else str(after.body["status"]["phase"])


def _suspended_again(record: Record) -> Change | None:
    """What ends the start of a Job that nobody has granted."""
    return first(record, lambda c: c.kind == JOBS and _is_suspended(c) and c.key[1] == "j-3")


def _is_suspended(change: Change) -> bool:
    if change.before is None or change.after is None:
        return False
    before, after = change.before.body["spec"], change.after.body["spec"]
    return bool(after["suspend"] and not before["suspend"])


def _silence(record: Record) -> float:
    """When the last node is said to be silent."""
    told = [c.at for c in record.kind(NODES) if c.after is not None and _unknown(c.after.body)]
    return told[-1]


def _unknown(node: dict[str, dict[str, list[dict[str, str]]]]) -> bool:
    return any(condition["status"] == "Unknown" for condition in node["status"]["conditions"])


ROWS = (
    *(
        Row(
            1,
            f"the leader is killed right after its write number {write}",
            "the other one reads the ledger and goes on with the same tokens",
            _killed_at(write),
            last_write,
            25,
        )
        for write in (1, 2, 3, 4)
    ),
    Row(
        2,
        "the leader is paused for 45 s, then goes on",
        "the other one leads; what the first one writes then counts for nothing",
        scenario(12, Fault(10, 45, "pause", LEADER)),
        at(10),
        25,
    ),
    Row(
        3,
        "two operators lead at once",
        "the ledger's compare-and-swap decides; no limit is exceeded",
        scenario(12, elects=False),
        at(12),
        5,
    ),
    Row(
        4,
        "the leader's event loop stands still for 12 s",
        "it leads no more when it goes on; whoever gets the Lease leads",
        scenario(12, Fault(10, 12, "pause", LEADER)),
        at(10),
        25,
    ),
    Row(
        5,
        "an operator is killed again and again while it lists",
        "nothing is granted before a complete list; then all goes on",
        scenario(
            4,
            *(Fault(0.5 + 1.5 * n, 1, "kill", "a") for n in range(6)),
            operators=1,
            elects=False,
            page=1,
            slow=0.1,
        ),
        at(8),
        10,
    ),
    Row(
        8,
        "the API server restarts: no connection for 5 s",
        "lists and watches begin anew, each after a pause of its own",
        scenario(12, Fault(10, 0, "restart"), *both(10, 5, "cut")),
        at(15),
        20,
    ),
    Row(
        9,
        "a watch or a list's next page is too old (410)",
        "all is listed again, and what is gone counts as deleted",
        scenario(10.5, Fault(10, 0, "restart"), page=1, compacts=0.5),
        at(10.5),
        20,
    ),
    Row(
        10,
        "the watches of Jobs and pods fall silent, without an end",
        "a watch silent for 70 s is opened anew",
        scenario(
            12,
            Fault(10, 0, "silent", "a", ("batch/v1/jobs", "v1/pods"), lasts=True),
            operators=1,
            elects=False,
        ),
        at(12),
        150,
    ),
    Row(
        11,
        "the watch of Jobs closes at once, again and again",
        "it is listed again after pauses that grow to 15 s",
        scenario(
            40,
            Fault(10, 0, "closing", "a", ("batch/v1/jobs",), 1, lasts=True),
            operators=1,
            elects=False,
        ),
        at(40),
        25,
    ),
    Row(
        12,
        "watches replay old events, a second late",
        "what is older than what was seen ends the watch; all is listed again",
        scenario(20, replays=3, lag=1.0),
        at(20),
        20,
    ),
    Row(
        13,
        "a Job is deleted and made again under its name while the watch is silent",
        "they are told apart by their UIDs; the slot of the first one is free",
        scenario(
            14,
            *both(10, 5, "silent", "batch/v1/jobs"),
            works=(Work("j-0", "team-a", "alice", 0, 30, deed=(12, "again")),),
            jobs=1,
        ),
        at(15),
        150,
    ),
    Row(
        14,
        "the Job is changed between the decision and its start (409)",
        "it is read again; held by its author it goes back to its place",
        scenario(
            30,
            works=(Work("j-0", "team-a", "alice", 9.9, 4, deed=(0.05, "hold")),),
            jobs=1,
        ),
        at(30),
        5,
    ),
    Row(
        15,
        "nine of ten requests are answered with 429 and Retry-After, for 20 s",
        "they are sent again when the server said; the order of the line stays",
        scenario(12, *both(10, 20, "busy", amount=0.9)),
        at(30),
        25,
    ),
    Row(
        16,
        "writes are applied and their answers lost, for 10 s",
        "the Job is read back, and the same token is sent again",
        scenario(9.9, Fault(10, 10, "deaf", "a"), operators=1, elects=False),
        at(20),
        30,
    ),
    Row(
        17,
        "lists of many pages break off",
        "no partial list is taken for a complete one",
        scenario(
            12,
            Fault(10, 1, "stop", "a"),
            Fault(11, 15, "broken", "a", amount=0.5),
            operators=1,
            elects=False,
            page=1,
            compacts=5,
        ),
        at(26),
        30,
    ),
    Row(
        18,
        "lists of Jobs are forbidden (403) for 20 s",
        "what is known stays; nothing new is granted by what may be old",
        scenario(12, Fault(10, 0, "restart"), *both(9.5, 20.5, "forbidden", "batch/v1/jobs")),
        at(30),
        25,
    ),
    Row(
        29,
        "the leader's requests arrive and no answer comes back, for ever",
        "it can't renew its Lease and steps down; the other one leads",
        scenario(12, Fault(10, 0, "deaf", LEADER, lasts=True)),
        at(10),
        25,
    ),
    Row(
        30,
        "links are cut one after the other and come back in another order",
        "all goes on when one operator is heard again",
        scenario(
            14,
            Fault(10, 20, "cut", LEADER),
            Fault(12, 13, "deaf", OTHER),
            Fault(13, 20, "silent", OTHER, ("v1/pods",)),
        ),
        at(25),
        25,
    ),
    Row(
        31,
        "the leader's wall clock steps by an hour and by a day, to and fro",
        "durations are monotonic; tokens rise whatever the clock says",
        scenario(
            20,
            Fault(10, 0, "step", LEADER, amount=HOUR),
            Fault(12, 0, "step", LEADER, amount=-2 * HOUR),
            Fault(14, 0, "step", LEADER, amount=-24 * HOUR),
        ),
        at(20),
        5,
    ),
    Row(
        32,
        "the leader's clocks run at half the speed, and it is cut off for 30 s",
        "two lead for a while; the ledger decides, and nothing starts twice",
        scenario(
            14,
            Fault(2, 0, "rate", LEADER, amount=0.5),
            Fault(10, 30, "cut", LEADER),
        ),
        at(10),
        25,
    ),
    Row(
        33,
        "all nodes fall silent, with a lease of 20 s",
        "the slot is kept for the lease's duration, then the Job is put back",
        scenario(
            12,
            *(Fault(10, 45, "node-silent", name) for name in ("n1", "n2", "n3")),
            works=(LONG,),
            jobs=1,
            lease=20,
        ),
        _silence,
        30,
    ),
    Row(
        34,
        "a pod is removed by force while its container runs",
        "its Job keeps its slot and makes another pod; others go on",
        scenario(12, works=(Work("j-0", "team-a", "alice", 0, 20, deed=(10, "force")),), jobs=2),
        at(12),
        5,
    ),
    Row(
        35,
        "a Job is deleted and its pod stays (orphan)",
        "the slot is free when the pod has ended",
        scenario(
            12,
            works=(Work("j-0", "team-a", "alice", 0, 20, deed=(10, "delete-orphan")),),
            jobs=1,
        ),
        _pods_end,
        10,
    ),
    Row(
        36,
        "somebody starts a waiting Job past Kwicket, where no policy refuses it",
        "it is suspended again, and waits in line until its turn comes",
        scenario(
            10.1,
            works=(*BEGIN, Work("j-3", "team-a", "alice", 10, 20, deed=(0.001, "start"))),
            jobs=1,
        ),
        at(10.001),
        5,
        until=_suspended_again,
    ),
    Row(
        37,
        "a limit is lowered to none while Jobs run, and raised after 20 s",
        "nothing is stopped, nothing new starts until there is room",
        scenario(12, edits=(Edit(10, "limit", 0), Edit(30, "limit", 4))),
        at(30),
        5,
    ),
    Row(
        38,
        "one tenant submits 120 Jobs at once",
        "another tenant's Job starts with the next slot",
        scenario(
            20, works=tuple(Work(f"j-{n}", "team-a", "alice", 0, 1) for n in range(120)), jobs=4
        ),
        at(20),
        10,
    ),
    Row(
        39,
        "statuses of Pools and Limits can't be written (403)",
        "no decision depends on them",
        scenario(12, Fault(10, 0, "statuses", LEADER, lasts=True)),
        at(12),
        5,
    ),
    Row(
        42,
        "the leader's memory goes wrong: it counts four Jobs more than hold a slot",
        "an audit finds it, and the pool is read anew from the ledger and the lists",
        scenario(12, Fault(10, 0, "flip", LEADER, amount=4), audited=EVERY),
        at(12),
        EVERY + 10,
    ),
)
"""In the order of the matrix."""


def rows_of(number: int) -> list[Row]:
    """Those with this number."""
    return [row for row in ROWS if row.number == number]
