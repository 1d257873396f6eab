"""Every reason why a Job waits, is set aside or is started: one word, and one sentence.

Status, events, logs and the README use these and no others.
"""

from enum import StrEnum


class Reason(StrEnum):
    """The closed list; each member's sentence is in `SENTENCES`, with its blanks."""

    # in line
    QUEUED = "Queued"
    GRANTED = "Granted"
    GIVEN_BACK = "GivenBack"
    # waits
    NOT_ITS_TURN = "NotItsTurn"
    LIMIT_REACHED = "LimitReached"
    RATE_REACHED = "RateReached"
    LIMIT_NOT_UNDERSTOOD = "LimitNotUnderstood"
    TURN_TAKEN = "TurnTaken"
    ROOM_KEPT = "RoomKept"
    HELD = "Held"
    POOL_PAUSED = "PoolPaused"
    POOL_NOT_UNDERSTOOD = "PoolNotUnderstood"
    LEDGER_UNAVAILABLE = "LedgerUnavailable"
    LEDGER_NOT_UNDERSTOOD = "LedgerNotUnderstood"
    WENT_BACK = "WentBack"
    POLICY_MISSING = "PolicyMissing"
    DEFINITIONS_OUTDATED = "DefinitionsOutdated"
    # set aside
    NO_POOL = "NoPool"
    UNKNOWN_POOL = "UnknownPool"
    UNKNOWN_LANE = "UnknownLane"
    LANE_OF_OTHER_POOL = "LaneOfOtherPool"
    NAMESPACE_NOT_SELECTED = "NamespaceNotSelected"
    TENANT_MISMATCH = "TenantMismatch"
    BAD_TRAIT = "BadTrait"
    BAD_TOKEN = "BadToken"  # noqa: S105  # a reason, and no secret
    TOO_WIDE = "TooWide"
    DENIED = "Denied"
    STARTED_WITHOUT_GRANT = "StartedWithoutGrant"
    STOPPED_WITHOUT_GRANT = "StoppedWithoutGrant"
    PUT_BACK = "PutBack"
    PARKED = "Parked"
    # runs
    LEASE_LAPSED = "LeaseLapsed"
    LEASE_HELD = "LeaseHeld"


SENTENCES: dict[Reason, str] = {
    Reason.QUEUED: "waits in pool {pool}{position}: {why}",
    Reason.GRANTED: "started by pool {pool} with token {token} after waiting {waited}",
    Reason.GIVEN_BACK: "grant {token} of pool {pool} was given back: {why}",
    Reason.NOT_ITS_TURN: "it is another tenant's or an earlier Job's turn",
    Reason.LIMIT_REACHED: "limit {limit} is reached: {used} of {most} {unit} run",
    Reason.RATE_REACHED: "limit {limit} is reached: {used} of {most} starts in its window",
    Reason.LIMIT_NOT_UNDERSTOOD: (
        "nothing starts under limit {limit}, which this version of Kwicket does not understand:"
        " {why}"
    ),
    Reason.TURN_TAKEN: (
        "its turn has come: it starts as soon as there is room for all of its {width} pods"
    ),
    Reason.ROOM_KEPT: "room is being kept for the {width} pods of {job}, whose turn came before",
    Reason.HELD: "its label kwicket.dev/hold keeps it; remove the label to let it start",
    Reason.POOL_PAUSED: "pool {pool} is paused",
    Reason.POOL_NOT_UNDERSTOOD: (
        "nothing starts in pool {pool}, which this version of Kwicket does not understand: {why}"
    ),
    Reason.LEDGER_UNAVAILABLE: (
        "nothing starts in pool {pool} while its ledger, or what runs, can't be read: {why}"
    ),
    Reason.LEDGER_NOT_UNDERSTOOD: "nothing starts in pool {pool}: {why}",
    Reason.WENT_BACK: (
        "nothing starts in pool {pool} until an administrator says how its tokens go on: {why}"
    ),
    Reason.POLICY_MISSING: (
        "nothing starts in pool {pool} while the policies that guard Jobs are not in force: {why}"
    ),
    Reason.DEFINITIONS_OUTDATED: (
        "nothing starts in pool {pool} while the definitions of Kwicket's kinds are older than this"
        " operator: {why}"
    ),
    Reason.NO_POOL: (
        "it names neither pool nor lane and no Pool is the default: label it kwicket.dev/pool,"
        " or set spec.default on a Pool"
    ),
    Reason.UNKNOWN_POOL: "there is no Pool {pool}; there are: {known}",
    Reason.UNKNOWN_LANE: "there is no Lane {lane} of a known Pool; there are: {known}",
    Reason.LANE_OF_OTHER_POOL: "lane {lane} belongs to pool {owner}, not to {pool}",
    Reason.NAMESPACE_NOT_SELECTED: (
        "pool {pool} does not admit Jobs of namespace {namespace}: its namespaceSelector decides"
    ),
    Reason.TENANT_MISMATCH: "namespace {namespace} belongs to tenant {owner}, not to {tenant}",
    Reason.BAD_TRAIT: (
        "{where} has trait {trait} = {value!a}, which is no number from 0 to 1 with at most three"
        " decimals, such as 0.5"
    ),
    Reason.BAD_TOKEN: (
        "its annotation kwicket.dev/token is {token}, which no pool can have given, and a start"
        " needs a higher one: delete the Job and make it again without the annotation"
    ),
    Reason.TOO_WIDE: (
        "it runs {width} pods at once and limit {limit} admits {most}: it can never start"
    ),
    Reason.DENIED: "the API server refuses its start, to be tried again in {seconds}s: {message}",
    Reason.STARTED_WITHOUT_GRANT: "it runs without a grant of Kwicket and is not counted",
    Reason.STOPPED_WITHOUT_GRANT: (
        "it ran without a grant of Kwicket and was suspended; in line it starts again when its turn"
        " comes: leave spec.suspend to Kwicket, or delete the Job"
    ),
    Reason.PUT_BACK: (
        "it was put back in line, since {why}, and rests for {seconds}s before it may start again"
        " with a higher token"
    ),
    Reason.PARKED: (
        "it was started {times} times and put back each time, the last time since {why}; pool"
        " {pool} lets that happen {most} times. Mend the cause, then make a new Job, or have an"
        " administrator run: kubectl annotate job {name} -n {namespace} kwicket.dev/deliveries=0"
        " --overwrite --field-manager=kwicket"
    ),
    Reason.LEASE_LAPSED: "its lease of pool {pool} has lapsed, and it was suspended: {why}",
    Reason.LEASE_HELD: (
        "its lease of pool {pool} has lapsed, and it keeps its slot, since {kept}: {why}"
    ),
}


def sentence(reason: Reason, **blanks: object) -> str:
    """The reason's sentence with its blanks filled. Raises KeyError if one is missing."""
    return SENTENCES[reason].format(**blanks)
