"""Specs of Pool, Lane, Limit and Ledger: good ones, and bad ones with a part of their refusal."""

from typing import Any

type Spec = dict[str, Any]
type Case = tuple[str, Spec, str]

TOO_LONG = "p" * 64


def factor(name: str = "FairShare", weight: Any = 1, **more: Any) -> Spec:
    return {"priority": [{"factor": name, "weight": weight, **more}]}


def factors(*items: Spec) -> Spec:
    return {"priority": [item["priority"][0] for item in items]}


def shares(*pairs: tuple[str, int]) -> Spec:
    return {"fairness": {"shares": [{"tenant": tenant, "share": share} for tenant, share in pairs]}}


def expression(**fields: Any) -> Spec:
    return {"namespaceSelector": {"matchExpressions": [{"key": "team", **fields}]}}


def lease(**fields: Any) -> Spec:
    return {"lease": fields}


def limit(**fields: Any) -> Spec:
    return {"pool": "main", "concurrency": {"jobs": 3}} | fields


def per_minute(**fields: Any) -> Spec:
    return {"pool": "main", "rate": {"starts": 1, "per": "1m"} | fields}


FULL_POOL: Spec = {
    "default": True,
    "paused": True,
    "namespaceSelector": {
        "matchLabels": {"example.com/team": "a"},
        "matchExpressions": [
            {"key": "team", "operator": "In", "values": ["a", "b", ""]},
            {"key": "kwicket.dev/tenant", "operator": "Exists"},
        ],
    },
    "priority": [
        {"factor": "FairShare", "weight": 1000000},
        {"factor": "Age", "weight": 0, "fullAfter": "1h30m"},
        {"factor": "Trait", "weight": 3, "trait": "urgent"},
        {"factor": "Trait", "weight": 3, "trait": "Small.job_2"},
    ],
    "fairness": {
        "charge": "Time",
        "shares": [{"tenant": "alice", "share": 2}, {"tenant": "Bob_1", "share": 1000}],
    },
    "lease": {
        "duration": "24h",
        "startWithin": "10s",
        "onLapse": "Hold",
        "redeliveries": 0,
    },
}

BETWEEN = "write a duration from 10s to 24h in hours, minutes and seconds, such as "
AGE = "write a duration from 1s to 8760h in hours, minutes and seconds, such as 30m or 1h30m"
BAD_POOLS: list[Case] = [
    ("unknown field", {"weight": 1}, 'unknown field "spec.weight"'),
    ("paused as a word", {"paused": "yes"}, "spec.paused: Invalid value"),
    ("no factor", {"priority": []}, "should have at least 1 items"),
    ("too many factors", factors(*[factor()] * 33), "must have at most 32 items"),
    ("unknown factor", factor("Size"), 'supported values: "FairShare", "Age", "Trait"'),
    ("no weight", {"priority": [{"factor": "Age"}]}, "priority[0].weight: Required value"),
    ("weight below 0", factor(weight=-1), "greater than or equal to 0"),
    ("weight above a million", factor(weight=1000001), "less than or equal to 1000000"),
    ("broken weight", factor(weight=0.5), "priority[0].weight: Invalid value"),
    ("FairShare twice", factors(factor(), factor()), "write factor FairShare at most once"),
    ("Age twice", factors(factor("Age"), factor("Age")), "write factor Age at most once"),
    (
        "a trait twice",
        factors(factor("Trait", trait="x"), factor("Trait", trait="x")),
        "write each trait at most once, with one weight",
    ),
    (
        "Trait without a name",
        factor("Trait"),
        "write trait: NAME to use the Job label trait.kwicket.dev/NAME",
    ),
    ("trait of Age", factor("Age", trait="x"), "leave it out, or write factor: Trait"),
    ("trait with a slash", factor("Trait", trait="a/b"), "write the NAME of a label"),
    ("empty trait", factor("Trait", trait=""), "write the NAME of a label"),
    ("long trait", factor("Trait", trait=TOO_LONG), "may not be more than 63"),
    ("fullAfter of Trait", factor("Trait", trait="x", fullAfter="1h"), "or write factor: Age"),
    ("fullAfter of FairShare", factor(fullAfter="1h"), "leave it out, or write factor: Age"),
    ("fullAfter 0s", factor("Age", fullAfter="0s"), AGE),
    ("fullAfter of more than a year", factor("Age", fullAfter="8760h1s"), AGE),
    ("fullAfter empty", factor("Age", fullAfter=""), AGE),
    ("fullAfter as a number", factor("Age", fullAfter=30), "fullAfter: Invalid value"),
    ("unknown charge", {"fairness": {"charge": "Money"}}, 'supported values: "Starts", "Time"'),
    ("share 0", shares(("a", 0)), "greater than or equal to 1"),
    ("share 1001", shares(("a", 1001)), "less than or equal to 1000"),
    ("a tenant's share twice", shares(("a", 1), ("a", 2)), "Duplicate value"),
    ("tenant with a blank", shares(("a b", 1)), "write a tenant as in the label"),
    ("empty tenant", shares(("", 1)), "write a tenant as in the label"),
    ("long tenant", shares((TOO_LONG, 1)), "may not be more than 63"),
    (
        "too many shares",
        shares(*[(f"t{n}", 1) for n in range(1001)]),
        "must have at most 1000 items",
    ),
    ("duration 9s", lease(duration="9s"), f"{BETWEEN}5m or 1h30m"),
    ("duration above a day", lease(duration="24h1s"), f"{BETWEEN}5m or 1h30m"),
    ("duration without a unit", lease(duration="300"), f"{BETWEEN}5m or 1h30m"),
    ("duration in words", lease(duration="soon"), f"{BETWEEN}5m or 1h30m"),
    ("duration with a fraction", lease(duration="1.5h"), f"{BETWEEN}5m or 1h30m"),
    ("duration in milliseconds", lease(duration="60000ms"), f"{BETWEEN}5m or 1h30m"),
    ("duration below zero", lease(duration="-5m"), f"{BETWEEN}5m or 1h30m"),
    ("duration in disorder", lease(duration="30m1h"), f"{BETWEEN}5m or 1h30m"),
    ("duration beyond counting", lease(duration="99999999999999999999h"), f"{BETWEEN}5m or 1h30m"),
    ("startWithin 9s", lease(startWithin="9s"), f"{BETWEEN}10m or 1h30m"),
    ("startWithin above a day", lease(startWithin="25h"), f"{BETWEEN}10m or 1h30m"),
    ("unknown onLapse", lease(onLapse="Retry"), 'supported values: "Redeliver", "Hold"'),
    ("redeliveries below 0", lease(redeliveries=-1), "greater than or equal to 0"),
    ("redeliveries above 100", lease(redeliveries=101), "less than or equal to 100"),
    ("In without values", expression(operator="In"), "so write at least one in values"),
    ("NotIn nothing", expression(operator="NotIn", values=[]), "so write at least one in values"),
    ("Exists with values", expression(operator="Exists", values=["a"]), "so leave values out"),
    (
        "DoesNotExist with values",
        expression(operator="DoesNotExist", values=["a"]),
        "so leave values out",
    ),
    ("unknown operator", expression(operator="Equals"), 'supported values: "In", "NotIn"'),
    ("no operator", expression(), "operator: Required value"),
    ("bad key", expression(key="a b", operator="Exists"), "write a label key, such as team or"),
    ("bad value", expression(operator="In", values=["a b"]), "write a label value, made of"),
    (
        "bad key of a label",
        {"namespaceSelector": {"matchLabels": {"a b": "x"}}},
        "write label keys, such as team or",
    ),
    (
        "bad label",
        {"namespaceSelector": {"matchLabels": {"team": "a b"}}},
        "write a label value, made of",
    ),
]
BAD_LANES: list[Case] = [
    ("no pool", {}, "spec.pool: Required value"),
    ("empty pool", {"pool": ""}, "write the name of a Pool"),
    ("capitals", {"pool": "Main"}, "write the name of a Pool, made of lower-case letters"),
    ("long pool", {"pool": TOO_LONG}, "may not be more than 63"),
    ("unknown field", {"pool": "main", "weight": 1}, 'unknown field "spec.weight"'),
]
BAD_LIMITS: list[Case] = [
    ("nothing", {}, "write exactly one of pool and lane"),
    ("pool and lane", limit(lane="gpu"), "write exactly one of pool and lane"),
    ("no bound", {"pool": "main"}, "write exactly one of concurrency and rate"),
    ("both bounds", limit() | per_minute(), "write exactly one of concurrency and rate"),
    ("no number", limit(concurrency={}), "write exactly one of jobs and pods"),
    ("both numbers", limit(concurrency={"jobs": 1, "pods": 1}), "exactly one of jobs and pods"),
    ("jobs below 0", limit(concurrency={"jobs": -1}), "greater than or equal to 0"),
    ("jobs above a million", limit(concurrency={"jobs": 1000001}), "or equal to 1000000"),
    ("pods below 0", limit(concurrency={"pods": -1}), "greater than or equal to 0"),
    ("pods above a million", limit(concurrency={"pods": 1000001}), "or equal to 1000000"),
    ("unknown count", limit(count="Each"), 'supported values: "Together", "EachTenant"'),
    ("bad pool", limit(pool="Main"), "write the name of a Pool"),
    ("bad lane", {"lane": "a_b", "concurrency": {"jobs": 1}}, "write the name of a Lane"),
    ("rate without per", {"pool": "main", "rate": {"starts": 1}}, "rate.per: Required value"),
    ("rate without starts", {"pool": "main", "rate": {"per": "1m"}}, "starts: Required value"),
    ("rate of 0", per_minute(starts=0), "greater than or equal to 1"),
    ("rate above 10000", per_minute(starts=10001), "less than or equal to 10000"),
    ("per 0s", per_minute(per="0s"), "write a duration from 1s to 24h"),
    ("per above a day", per_minute(per="25h"), "write a duration from 1s to 24h"),
    ("per in words", per_minute(per="minute"), "write a duration from 1s to 24h"),
]

LEDGER: Spec = {
    "version": "1764000000012",
    "scale": "232792560",
    "virtualTime": "543182640",
    "tags": [{"tenant": "alice", "at": "698377680"}],
    "standing": [{"tenant": "bob", "at": "0"}],
    "credits": [{"tenant": "carol", "amount": "2327925600000"}],
    "charging": "Time",
    "charges": [{"tenant": "alice", "open": ["1764000000012 4 1764000000002 240000"]}],
    "means": [{"tenant": "carol", "mean": 1000}, {"tenant": "alice", "mean": 60000}],
    "reservations": [
        {
            "job": "team-a/train-8",
            "uid": "0b0c8f5e-6d0e-4c55-9a3e-3d7e0a4f9c11",
            "tenant": "bob",
            "lane": "",
            "width": 8,
            "at": 1764000000002,
            "charge": "480000",
            "kept": 1764000000002,
        }
    ],
    "startsSince": [{"limit": "rate", "at": 1764000000000}],
    "starts": [
        {"tenant": "alice", "lane": "", "at": [1764000000001, 1764000000002]},
        {"tenant": "alice", "lane": "gpu", "at": []},
    ],
    "intents": [
        {
            "token": "1764000000012",
            "job": "team-a/train-7",
            "uid": "6f1d2b6e-93a5-4b43-9c0b-5a51fb4a3a0e",
            "tenant": "alice",
            "lane": "gpu",
            "width": 4,
            "at": 1764000000002,
            "charge": "240000",
        }
    ],
    "lastGrant": 1764000000002,
}
BAD_LEDGERS: list[Case] = [
    ("no version", {}, "spec.version: Required value"),
    ("version 0", {"version": "0"}, "spec.version in body should match"),
    ("version as a number", {"version": 7}, "must be of type string"),
    ("version too long", {"version": "1" * 19}, "may not be more than 18"),
    ("decimal virtual time", {"virtualTime": "0.5"}, "virtualTime in body should match"),
    ("virtual time as a fraction", {"virtualTime": "7/3"}, "virtualTime in body should match"),
    ("no scale", {"version": "7"}, "spec.scale: Required value"),
    ("scale 0", {"scale": "0"}, "scale in body should match"),
    ("unknown charging", {"charging": "Pods"}, 'supported values: "Starts", "Time"'),
    (
        "charge in words",
        {"charges": [{"tenant": "a", "open": ["7 1 now 60000"]}]},
        "open[0] in body should match",
    ),
    ("unknown field", {"notes": ""}, 'unknown field "spec.notes"'),
]

STATUS: Spec = {
    "observedGeneration": 1,
    "waiting": 1204,
    "running": 8,
    "tenants": 17,
    "oldestWaiting": "2026-01-01T00:00:00Z",
    "lastGrant": "2026-01-02T00:00:00Z",
    "token": "1764000000012",
}
READY: Spec = {
    "type": "Ready",
    "status": "True",
    "observedGeneration": 1,
    "lastTransitionTime": "2026-01-01T00:00:00Z",
    "reason": "Serving",
    "message": "Jobs are started in turn.",
}
BAD_STATUS: list[Case] = [
    ("waiting below 0", {"waiting": -1}, "greater than or equal to 0"),
    ("oldestWaiting as a number", {"oldestWaiting": 1}, "oldestWaiting: Invalid value"),
    ("token 0", {"token": "0"}, "token in body should match"),
    ("two conditions of a type", {"conditions": [READY, READY]}, "Duplicate value"),
    ("condition in lower case", {"conditions": [READY | {"status": "true"}]}, '"True", "False"'),
]
