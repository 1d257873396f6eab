"""Each checker catches a bad history that was made by hand, and lets a good one pass."""

from typing import Any

import pytest

from faults.checks import CHECKS
from faults.checks.capacity import capacity
from faults.checks.convergence import convergence
from faults.checks.explained import explained
from faults.checks.fairness import fairness
from faults.checks.leaks import leaks
from faults.checks.lost import lost
from faults.checks.single import single
from faults.checks.stale import stale
from faults.checks.tokens import tokens
from faults.decisions import Taken
from faults.options import START, Options
from faults.run import Record
from faults.server import TOKEN
from faults.store import JOBS, LEDGERS, LIMITS, PODS, UID_LABEL, Body, Store, changed
from kwicket.core.decide import Decision
from kwicket.core.limits import Limit
from kwicket.core.state import State
from support.builders import intent, rules, ticket
from support.builders import jobs as jobs_limit


class Story:
    """A history by hand: one sentence a line."""

    def __init__(self, **options: Any) -> None:
        self.store = Store(START)
        self.record = Record(Options(seed=1, jobs=1, **options), quiet=True)
        self.record.changes = self.store.changes
        self.limit(1)

    def limit(self, most: int, **spec: Any) -> None:
        """An administrator says so."""
        spec = {"pool": "pool", "concurrency": {"jobs": most}} | spec
        self.store.put(LIMITS, {"metadata": {"name": "jobs"}, "spec": spec})

    def submit(self, name: str, tenant: str = "alice", **labels: str) -> None:
        """A tenant makes a Job."""
        metadata: Body = {"name": name, "namespace": "team"}
        metadata["labels"] = {"kwicket.dev/tenant": tenant} | labels
        spec = {"suspend": True, "parallelism": 1, "completions": 1}
        self.store.put(JOBS, {"metadata": metadata, "spec": spec, "status": {}})

    def commit(self, version: int, *granted: str, at: int = 0) -> None:
        """An operator grants these, with tokens up to `version`; it had heard of everything."""
        first = version - len(granted) + 1
        intents = [
            {"token": str(first + n), "uid": self.uid(name), "tenant": self.tenant(name), "at": at}
            | {"charge": "1"}
            for n, name in enumerate(granted)
        ]
        spec = {"version": str(version), "intents": intents}
        body = {"metadata": {"name": "pool"}, "spec": spec}
        self.store.put(LEDGERS, body, "a.1", self.store.version)

    def start(self, name: str, token: int) -> None:
        """An operator writes a grant on its Job."""
        self.change(name, metadata={"annotations": {TOKEN: str(token)}}, spec={"suspend": False})

    def end(self, name: str) -> None:
        """The Job says that it is complete."""
        self.change(name, status={"conditions": [{"type": "Complete", "status": "True"}]})

    def run(self, name: str, phase: str = "Running", token: int = 0) -> None:
        """A pod of a Job, in this phase."""
        metadata: Body = {"name": f"{name}-1", "namespace": "team", "annotations": {}}
        metadata["labels"] = {UID_LABEL: self.uid(name), "kwicket.dev/tenant": self.tenant(name)}
        if token:
            metadata["name"] = f"{name}-{self.store.version}"
            metadata["annotations"] = {TOKEN: str(token)}
        self.store.put(PODS, {"metadata": metadata, "spec": {}, "status": {"phase": phase}})

    def change(self, name: str, **parts: Body) -> None:
        """Somebody changes a Job."""
        self.store.put(JOBS, changed(self.job(name), **parts))

    def job(self, name: str) -> Body:
        stored = self.store.get(JOBS, ("team", name))
        assert stored is not None
        return stored.body

    def uid(self, name: str) -> str:
        return str(self.job(name)["metadata"]["uid"])

    def tenant(self, name: str) -> str:
        return str(self.job(name)["metadata"]["labels"]["kwicket.dev/tenant"])


async def two_jobs(**options: Any) -> Story:
    """x-1 and x-2, both granted; x-1 is started."""
    story = Story(**options)
    story.submit("x-1")
    story.submit("x-2")
    story.commit(11, "x-1")
    story.start("x-1", 11)
    return story


async def test_a_good_history_is_good() -> None:
    story = await two_jobs()
    story.run("x-1")
    story.run("x-1", "Succeeded")
    story.end("x-1")
    story.commit(12, "x-2")
    story.start("x-2", 12)
    story.end("x-2")
    assert [text for _, check in CHECKS for text in check(story.record)] == []


async def test_i1_two_at_once_under_a_limit_of_one() -> None:
    story = await two_jobs()
    story.commit(12, "x-2")
    story.start("x-2", 12)
    assert capacity(story.record) == ["2 of 1 under jobs as u3 starts, at 0.00 s"]


async def test_i1_a_pod_holds_the_slot_of_a_job_that_is_gone() -> None:
    story = await two_jobs()
    story.run("x-1", token=11)
    story.store.remove(JOBS, ("team", "x-1"))
    story.commit(12, "x-2")
    story.start("x-2", 12)
    assert len(capacity(story.record)) == 1


async def test_i1_a_pod_that_no_grant_has_started_takes_no_slot() -> None:
    story = await two_jobs()
    story.run("x-1")
    story.store.remove(JOBS, ("team", "x-1"))
    story.commit(12, "x-2")
    story.start("x-2", 12)
    assert capacity(story.record) == []


async def test_i1_a_limit_counts_its_own_pools_jobs() -> None:
    story = await two_jobs()
    story.limit(1, pool="second")
    story.commit(12, "x-2")
    story.start("x-2", 12)
    assert capacity(story.record) == []


async def test_i1_a_start_is_judged_by_what_was_known_when_it_was_decided() -> None:
    story = Story()
    story.limit(2)
    story.submit("x-1")
    story.submit("x-2")
    story.commit(12, "x-1", "x-2")
    story.limit(1)
    story.start("x-1", 11)
    story.start("x-2", 12)
    assert capacity(story.record) == []
    story.submit("x-3")
    story.commit(13, "x-3")
    story.start("x-3", 13)
    assert len(capacity(story.record)) == 1


async def test_i1_each_tenant_has_a_limit_of_its_own() -> None:
    story = Story()
    story.limit(1, count="EachTenant")
    story.submit("x-1", "alice")
    story.submit("x-2", "bob")
    story.submit("x-3", "bob")
    story.commit(13, "x-1", "x-2", "x-3")
    for number, name in enumerate(("x-1", "x-2", "x-3"), start=11):
        story.start(name, number)
    assert capacity(story.record) == ["2 of 1 under jobs as u4 starts, at 0.00 s"]


@pytest.mark.parametrize(("at", "found"), [(9_999, 1), (10_000, 0)])
async def test_i1_starts_in_a_window(at: int, found: int) -> None:
    story = await two_jobs(rate=(1, 10))
    story.end("x-1")
    story.commit(12, "x-2", at=at)
    story.start("x-2", 12)
    assert len(capacity(story.record)) == found


async def test_i2_a_job_is_started_again_while_a_pod_of_it_lives() -> None:
    story = await two_jobs()
    story.run("x-1")
    story.change("x-1", spec={"suspend": True})
    story.commit(12, "x-1")
    story.start("x-1", 12)
    assert single(story.record) == ["u2 starts at 0.00 s while pods of it live"]


async def test_i2_a_job_is_granted_twice_in_one_ledger() -> None:
    story = await two_jobs()
    story.commit(13, "x-2", "x-2")
    assert single(story.record) == ["two grants of u3 in pool"]


async def test_i3_a_ledger_that_was_lost_begins_too_low() -> None:
    story = await two_jobs()
    story.store.remove(LEDGERS, ("", "pool"))
    story.commit(11, "x-2")
    assert tokens(story.record) == ["token 11 of u3 after 11"]


async def test_i3_a_token_is_given_to_two_jobs_or_falls() -> None:
    story = await two_jobs()
    story.start("x-2", 11)
    story.start("x-2", 10)
    assert tokens(story.record) == ["token 11 is on u3 and on u2", "the token of u3 falls to 10"]


async def test_i3_a_pod_sees_a_lower_token_than_the_one_before_it() -> None:
    story = await two_jobs()
    story.run("x-1", token=12)
    story.run("x-1", token=11)
    assert tokens(story.record) == ["a pod of x-1 sees 11 after 12"]


async def test_i4_a_job_that_waits_for_ever() -> None:
    story = await two_jobs()
    story.end("x-1")
    story.record.quiet = False
    assert lost(story.record) == ["after 0 s not over: team/x-2"]


async def test_i5_a_tenant_is_served_three_times_while_another_waits() -> None:
    story = Story()
    line = [("x-1", "alice"), ("x-2", "alice"), ("x-3", "alice"), ("y-1", "bob")]
    for name, tenant in line:
        story.submit(name, tenant)
    waiting = [ticket(story.uid(name), tenant) for name, tenant in line]
    for token, (name, tenant) in enumerate(line[:3], start=11):
        story.commit(token, name)
        story.start(name, token)
        granted = Decision((intent(story.uid(name), tenant, token=token),))
        story.record.decisions.append(taken(*waiting, decision=granted))
        waiting = waiting[1:]
    assert fairness(story.record) == ["alice and bob are 3 apart at token 13"]


@pytest.mark.parametrize("back", [True, False])
async def test_i5_a_tenant_whose_grant_is_given_back_has_not_had_its_turn(back: bool) -> None:
    """The grant of x-1 never starts; it is given back with token 15, or not at all."""
    story = Story()
    served = [("y-1", "bob"), ("y-2", "bob"), ("x-2", "alice"), ("x-3", "alice"), ("x-4", "alice")]
    for name, tenant in [("x-1", "alice"), *served, ("x-5", "alice"), ("y-3", "bob")]:
        story.submit(name, tenant)
    always = ticket(story.uid("x-5"), "alice"), ticket(story.uid("y-3"), "bob")
    story.commit(11, "x-1")
    for n, (name, tenant) in enumerate(served):
        kept = () if back and n >= 3 else ("x-1",)
        story.commit(12 + n, *kept, *(one for one, _ in served[: n + 1]))
        story.start(name, 12 + n)
        granted = Decision((intent(story.uid(name), tenant, token=12 + n),))
        waits = ticket(story.uid(name), tenant)
        story.record.decisions.append(taken(*always, waits, decision=granted))
    assert fairness(story.record) == ([] if back else ["alice and bob are 3 apart at token 16"])


async def test_i6_a_slot_that_nobody_gave_back() -> None:
    story = await two_jobs()
    story.record.wanted_probes, story.record.probes = 2, 1
    assert leaks(story.record) == ["1 of 2 probes run at once when all else is over"]


async def test_i7_a_start_that_was_given_back() -> None:
    story = await two_jobs()
    story.commit(12, "x-2")
    story.commit(13)
    story.start("x-2", 12)
    assert stale(story.record) == ["u3 starts with 12, which was given back"]


async def test_i7_a_start_that_nobody_has_granted() -> None:
    story = await two_jobs()
    story.start("x-2", 12)
    assert stale(story.record) == ["u3 starts with 12, which no ledger has granted it"]


async def test_i7_a_start_of_a_job_that_its_author_holds() -> None:
    story = await two_jobs()
    story.submit("x-3", **{"kwicket.dev/hold": "true"})
    story.commit(12, "x-3")
    story.start("x-3", 12)
    assert stale(story.record) == ["u5 starts at 0.00 s though its author holds it"]


async def test_i8_nobody_says_why_a_job_waits() -> None:
    story = await two_jobs()
    assert explained(story.record) == ["nobody told u3 why it waits"]


async def test_i8_a_decision_that_does_not_come_out_again() -> None:
    story = Story()
    decided = Decision((intent("x-2", at=START, token=2),))
    story.record.decisions.append(taken(ticket("x-1"), ticket("x-2"), decision=decided))
    [text] = explained(story.record)
    assert "replayed" in text


async def test_i11_another_end_than_without_faults() -> None:
    story, plain = await two_jobs(), await two_jobs()
    plain.end("x-2")
    story.record.faultless = plain.record
    assert convergence(story.record) == ["team/x-2 is waiting, and over without faults"]


def taken(*waiting: Any, decision: Decision, limit: Limit | None = None) -> Taken:
    """A decision about these, under a limit of one Job."""
    declared = rules(limit or jobs_limit(1))
    return Taken(0, "a.1", declared, State(1), waiting, (), START, decision)
