"""The world of one history: the cluster, its operators, and everybody who does something to it."""

import random
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from faults.administrator import SECOND, Administrator
from faults.controller import JobController
from faults.harm import PROCESSES, clear, strike, worsen
from faults.loop import BenchLoop
from faults.nodes import Nodes, Run, job_uid
from faults.operators import Join, Operator
from faults.options import NODES, OPERATORS, START, Fault, Options, Work
from faults.server import Server, token_of
from faults.store import (
    JOBS,
    Body,
    Change,
    Key,
    Store,
    Versions,
    changed,
)
from kwicket.ports.notices import Notice

NOWHERE = "nowhere"
"""A pool that there is none of."""


class Voice(Struct, frozen=True):
    """What an operator told of a Job."""

    at: float
    process: str
    notice: Notice


class World:
    """Begins to move when `begin` is called."""

    def __init__(
        self,
        options: Options,
        loop: BenchLoop,
        *,
        cluster: str = "",
        versions: Versions | None = None,
        join: Callable[[str], Join] | None = None,
    ) -> None:
        """`cluster` is its name where there are more, `versions` the counter that they share.

        `join` gives each operator, by its name, the way to the ledger that they share.
        """
        self.options = options
        self.cluster = cluster
        self._join = join
        self.loop = loop
        self.voices: list[Voice] = []
        self.store = Store(START, versions)
        self.server = Server(self.store, forgets=options.compacts > 0)
        self._context = copy_context()
        self.nodes = Nodes(self.store, self._dice("nodes"), self.after, self._run_of)
        self.controller = JobController(
            self.store, self.nodes, self._dice("controller"), self.after
        )
        self.controller.slow, self.controller.ttl = options.controller, options.ttl
        self._works = {(work.namespace, work.name): work for work in options.works}
        self._done: set[Key] = set()
        for name in NODES:
            self.nodes.add(name)
        self.administrator = Administrator(options, self.store, self.after)
        self.administrator.declare()
        self.operators = [self._operator(number) for number in range(options.operators)]
        self.store.listeners.append(self._tell)

    def after(self, seconds: float, what: Callable[..., Any], *arguments: Any) -> Any:
        """Calls it in the world, not in any process."""
        return self.loop.call_later(seconds, what, *arguments, context=self._context)

    def begin(self) -> None:
        """Everybody begins."""
        for operator in self.operators:
            operator.start()
        pace = self.options.pace
        for work in self.options.works:
            self.after(work.at * pace, self.submit, work)
        for edit in self.options.edits:
            self.after(edit.at * pace, self.administrator.edit, edit)
        for fault in self.options.faults:
            self.after(fault.at * pace, self._break, fault)
        self.after(self.options.faulty, self.heal)
        if self.options.compacts:
            self._compact()

    def add(self, work: Work) -> None:
        """A Job that is in no plan."""
        self._works[work.namespace, work.name] = work
        self.submit(work)

    def submit(self, work: Work) -> None:
        """A tenant makes a Job; admission has it suspended."""
        labels = {"kwicket.dev/tenant": work.tenant}
        if work.lane:
            labels["kwicket.dev/lane"] = work.lane
        if work.unplaced:
            labels["kwicket.dev/pool"] = NOWHERE
        elif self.options.pools > 1 and work.name[-1] in "13579" and work in self.options.works:
            labels["kwicket.dev/pool"] = SECOND
        spec: Body = {
            "suspend": True,
            "parallelism": work.parallelism,
            "backoffLimit": 3,
            "template": {"metadata": {"labels": {"kwicket.dev/tenant": work.tenant}}},
        }
        if work.completions is not None:
            spec["completions"] = work.completions
        metadata = {"name": work.name, "namespace": work.namespace, "labels": labels}
        self.store.put(JOBS, {"metadata": metadata, "spec": spec, "status": {}}, "tenant")
        key = work.namespace, work.name
        if work.deed is not None and key not in self._done:
            self._done.add(key)
            seconds, deed = work.deed
            self.after(seconds * self.options.pace, self._do, key, deed)

    def _do(self, key: Key, deed: str) -> None:
        """A tenant, or somebody who may, does something to a Job."""
        job = self.store.get(JOBS, key)
        if job is None:
            return
        uid = job.body["metadata"]["uid"]
        match deed:
            case "hold":
                self._label(key, "true")
                self.after(8, self._label, key, None)
            case "suspend":
                self._change(key, spec={"suspend": True})
            case "start" if not token_of(job.body):
                self._change(key, spec={"suspend": False})
            case "start":
                pass
            case "evict":
                for pod in list(self.store.pods_of.get(uid, {})):
                    self.nodes.delete(pod, "tenant")
            case "force":
                for pod in list(self.store.pods_of.get(uid, {})):
                    self.nodes.force(pod)
            case "again":
                self.controller.delete(key, "background")
                work = self._works[key]
                self.after(0.05, self.submit, work)
            case _:
                self.controller.delete(key, deed.removeprefix("delete-"))

    def _label(self, key: Key, value: str | None) -> None:
        job = self.store.get(JOBS, key)
        if job is not None:
            labels = {**job.body["metadata"]["labels"], "kwicket.dev/hold": value}
            labels = {name: said for name, said in labels.items() if said is not None}
            self._change(key, metadata={"labels": labels})

    def _change(self, key: Key, **parts: Body) -> None:
        job = self.store.get(JOBS, key)
        if job is not None and changed(job.body, **parts) != job.body:
            self.store.put(JOBS, changed(job.body, **parts), "tenant")

    def _break(self, fault: Fault) -> None:
        """Something goes wrong, and heals by itself if it does not last."""
        if self.options.pace > 1:
            fault = replace(fault, seconds=fault.seconds * self.options.pace)
        operator = next((one for one in self.operators if one.name == fault.where), None)
        match fault.what:
            case "compact":
                self.store.compact()
            case "restart":
                self._restart()
            case "node-silent":
                self.nodes.fall_silent(fault.where, 4, 20)
                self.after(fault.seconds, self.nodes.come_back, fault.where)
            case "node-lost":
                self.nodes.lose(fault.where)
                self.after(fault.seconds, self.nodes.come_back, fault.where)
            case "refused":
                self.server.denied.add(fault.where)
            case _ if operator is not None:
                self._hurt(operator, fault)
        if not fault.lasts and fault.what == "refused":
            self.after(fault.seconds, self.server.denied.discard, fault.where)

    def _compact(self) -> None:
        self.store.compact()
        self.server.forgets = self.loop.time() < self.options.faulty
        if self.server.forgets:
            self.after(self.options.compacts * self.options.pace, self._compact)

    def _hurt(self, operator: Operator, fault: Fault) -> None:
        """A fault of a process, or of its network."""
        if fault.what in PROCESSES:
            strike(operator, fault, self.after)
            if fault.lasts and fault.what == "crash-loop":
                self.after(7, self._hurt, operator, fault)
            return
        worsen(operator, fault)
        if not fault.lasts:
            self.after(fault.seconds, self._ease, operator)

    def _ease(self, operator: Operator) -> None:
        """All that is wrong with its network is over, but for what lasts."""
        options, lasting = self.options, self.options.lasting
        clear(operator.trouble, options)
        if lasting is None or lasting.where != operator.name or lasting.what in PROCESSES:
            operator.catch_up()
        elif self.loop.time() > lasting.at * options.pace:
            worsen(operator, lasting)

    def heal(self) -> None:
        """From here on nothing goes wrong any more but what lasts, and all may run."""
        lasting = self.options.lasting
        for operator in self.operators:
            operator.kills_at = 0
            operator.go_on()
            self._ease(operator)
            if lasting is None or lasting.where != operator.name or lasting.what != "stop":
                operator.start()
        if lasting is None or lasting.what != "refused":
            self.server.denied.clear()
        for name in NODES:
            self.nodes.come_back(name)
        self.administrator.limit("jobs", {"concurrency": {"jobs": self.options.jobs}})

    def _restart(self) -> None:
        """The API server starts again: connections end, and its watch cache is young."""
        self.store.compact()
        for operator in self.operators:
            if operator.process is not None:
                operator.process.link.cut_watches()

    def _operator(self, number: int) -> Operator:
        options = self.options
        operator = Operator(
            OPERATORS[number],
            server=self.server,
            loop=self.loop,
            dice=self._dice(OPERATORS[number]),
            ahead=options.skew[number],
            elects=options.elects,
            told=lambda process, notice: self.voices.append(
                Voice(self.loop.time(), process, notice)
            ),
            cluster=self.cluster,
            join=self._join and self._join(OPERATORS[number]),
        )
        clear(operator.trouble, options)
        return operator

    def _tell(self, change: Change) -> None:
        for operator in self.operators:
            operator.hear(change)

    def _run_of(self, pod: Body) -> Run:
        """How a pod goes, by the plan of its Job."""
        name, space = pod["metadata"]["name"], pod["metadata"]["namespace"]
        job, _, number = name.partition(f"-{job_uid(pod)}-")
        work = self._works[space, job]
        phase = "Failed" if int(number) <= work.fails else "Succeeded"
        seconds = work.seconds * (1 if name.startswith("probe") else self.options.pace)
        return Run(seconds, phase, work.grace)

    def _dice(self, name: str) -> random.Random:
        place = f"{self.cluster}/" if self.cluster else ""
        return random.Random(f"{place}{name} {self.options.seed}")  # noqa: S311
