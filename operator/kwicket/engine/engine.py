"""The engine: its rooms joined, and the doors by which the Kubernetes shell enters."""

import asyncio
from collections.abc import Iterable

import structlog

from kwicket.core.catalog import Catalog
from kwicket.core.jobs import JobSeen, NamespaceSeen, NodeSeen, PodSeen
from kwicket.engine.alarms import Alarms
from kwicket.engine.census import Census
from kwicket.engine.desk import Desk
from kwicket.engine.grant import Grants
from kwicket.engine.intake import Intake
from kwicket.engine.lapses import Lapses
from kwicket.engine.leases import Leases
from kwicket.engine.permit import Permit
from kwicket.engine.readings import Readings
from kwicket.engine.recovery import Recovery
from kwicket.engine.registry import Registry
from kwicket.engine.release import Releases
from kwicket.engine.replacements import Replacements
from kwicket.engine.reports import Reports
from kwicket.engine.rests import Rests
from kwicket.engine.strays import Strays
from kwicket.engine.suspensions import Suspensions
from kwicket.engine.tasks import Spawn
from kwicket.engine.term import Term
from kwicket.engine.turn import Turns
from kwicket.ports.clock import Clock
from kwicket.ports.cluster import Cluster
from kwicket.ports.enforcement import Enforcement
from kwicket.ports.leadership import Leadership
from kwicket.ports.ledger import Ledger
from kwicket.ports.metrics import Metrics
from kwicket.ports.notices import Notices

TIDY = 10.0
"""Seconds after which a follower's books let go of what has left their lines."""

_log = structlog.get_logger(__name__)


class Engine:
    """Everything that it starts is a task made by `spawn`; whoever owns those tasks ends it."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        cluster: Cluster,
        notices: Notices,
        clock: Clock,
        leadership: Leadership,
        metrics: Metrics,
        spawn: Spawn,
    ) -> None:
        self._leadership = leadership
        self._term = Term(spawn)
        self.census = Census()
        self.registry = Registry(clock)
        self.permit = Permit()
        self._alarms = Alarms(clock)
        self.leases = Leases(self.census, self.registry, self._alarms, clock)
        self.intake = Intake(
            census=self.census,
            registry=self.registry,
            leases=self.leases,
            rests=Rests(self._alarms, clock),
            notices=notices,
            leadership=leadership,
        )
        self.intake.proofs = Releases(self.census, self.intake, self.leases, cluster, spawn)
        self._heed_suspensions(cluster, ledger, notices, metrics)
        self.reports = Reports(
            registry=self.registry,
            census=self.census,
            leases=self.leases,
            permit=self.permit,
            notices=notices,
            clock=clock,
            leadership=leadership,
        )
        self.readings = Readings(
            registry=self.registry,
            intake=self.intake,
            permit=self.permit,
            leadership=leadership,
            clock=clock,
        )
        self._spawn = spawn
        self._turns = self._turns_with(ledger, cluster, notices, metrics, clock)
        self._serving: dict[str, asyncio.Task[None]] = {}
        self._leading = False
        self._stale = asyncio.Event()

    def _heed_suspensions(
        self, cluster: Cluster, ledger: Ledger, notices: Notices, metrics: Metrics
    ) -> None:
        """Has strays suspended, and Jobs whose leases have lapsed; and what comes of that."""
        suspensions = Suspensions(self.intake, self.permit, cluster)
        self.intake.stops = self.strays = Strays(
            census=self.census,
            registry=self.registry,
            leases=self.leases,
            intake=self.intake,
            permit=self.permit,
            suspensions=suspensions,
            ledger=ledger,
            notices=notices,
            leadership=self._leadership,
            metrics=metrics,
            spawn=self._term.spawn,
        )
        self.intake.replacements = Replacements(
            census=self.census,
            intake=self.intake,
            permit=self.permit,
            cluster=cluster,
            leadership=self._leadership,
            spawn=self._term.spawn,
        )
        self.intake.lapses = self.lapses = Lapses(
            census=self.census,
            intake=self.intake,
            leases=self.leases,
            permit=self.permit,
            cluster=cluster,
            suspensions=suspensions,
            notices=notices,
            leadership=self._leadership,
            spawn=self._term.spawn,
        )

    def _turns_with(
        self, ledger: Ledger, cluster: Cluster, notices: Notices, metrics: Metrics, clock: Clock
    ) -> Turns:
        recovery = Recovery(
            ledger=ledger,
            cluster=cluster,
            clock=clock,
            census=self.census,
            registry=self.registry,
            intake=self.intake,
            leases=self.leases,
        )
        grants = Grants(
            census=self.census,
            intake=self.intake,
            permit=self.permit,
            cluster=cluster,
            notices=notices,
            metrics=metrics,
            spawn=self._spawn,
        )
        return Turns(
            ledger=ledger,
            clock=clock,
            recovery=recovery,
            grants=grants,
            intake=self.intake,
            permit=self.permit,
            reports=self.reports,
            metrics=metrics,
            spawn=self._term.spawn,
        )

    def start(self) -> None:
        """Starts the tasks that every pool shares."""
        self._spawn(self.reports.run(), name="reports")
        self._spawn(self.reports.declared(), name="declared")
        self._spawn(self._sweep(), name="sweep")
        self._spawn(self._lead(), name="lead")
        self._spawn(self._alarms.run(self._consider), name="alarms")

    def declare(self, catalog: Catalog) -> None:
        """Takes the Pools, Lanes and Limits as they are now."""
        if self.registry.declare(catalog, self._open, self._close):
            self._stale.set()

    def enforce(self, enforcement: Enforcement) -> None:
        """Takes what is known of the policies now; until the first word nothing is granted."""
        if not self.permit.take(enforcement):
            return
        log = _log.info if enforcement.in_force else _log.warning
        log("policies", state=enforcement.reason, why=enforcement.message)
        for desk in self.registry.desks():
            desk.wake()
        self._report_all()
        self._stale.set()

    def saw_job(self, job: JobSeen) -> None:
        """A Job was created, changed or listed."""
        if self.census.take_job(job):
            self._consider(job.uid)

    def listed_job(self, job: JobSeen, version: int) -> None:
        """A complete list of this version, which is the truth, holds the Job."""
        if self.census.contradicts(job, version):
            self.went_back()
        self.saw_job(job)

    def went_back(self) -> None:
        """The cluster was restored from a backup older than what this replica has seen."""
        self.census.forget_versions()
        for desk in self.registry.desks():
            self._consider_all(desk.distrust(self.registry.token(desk.name)))
            self.reports.changed(desk)

    def lost_job(self, uid: str) -> None:
        """A Job is gone."""
        if self.census.drop_job(uid):
            self._consider(uid)

    def saw_pod(self, pod: PodSeen) -> None:
        """A pod was created, changed or listed."""
        self._consider_all(self.census.take_pod(pod))

    def lost_pod(self, pod: PodSeen) -> None:
        """A pod is gone."""
        self._consider_all(self.census.drop_pod(pod))

    def saw_namespace(self, namespace: NamespaceSeen) -> None:
        """A namespace was created, changed or listed."""
        if self.census.take_namespace(namespace):
            self._consider_all(j.uid for j in self.census.jobs() if j.namespace == namespace.name)

    def lost_namespace(self, name: str) -> None:
        """A namespace is gone."""
        self.census.drop_namespace(name)

    def saw_node(self, node: NodeSeen) -> None:
        """A node was created, changed or listed."""
        if self.census.take_node(node):
            self._consider_all(self.census.placed_on(node.name))
            self._report_all()

    def lost_node(self, name: str) -> None:
        """A node is gone."""
        self.census.drop_node(name)
        self._consider_all(self.census.placed_on(name))
        self._report_all()

    def _report_all(self) -> None:
        for desk in self.registry.desks():
            self.reports.changed(desk)

    def _consider(self, uid: str) -> None:
        self.intake.consider(uid)
        home = self.intake.desk(uid)
        if home is not None:
            self.reports.changed(home)

    def _consider_all(self, uids: Iterable[str]) -> None:
        for uid in list(uids):
            self._consider(uid)

    def _open(self, desk: Desk) -> None:
        """A follower's desk is kept in step with the cluster, and takes no turns."""
        if self._leading:
            task = self._term.spawn(self._turns.serve(desk), name=f"pool {desk.name}")
            self._serving[desk.name] = task

    def _close(self, desk: Desk) -> None:
        if desk.name in self._serving:
            self._serving.pop(desk.name).cancel()
        self.intake.evict(desk)
        self._consider_all(desk.abandon())

    async def _lead(self) -> None:
        """One term after the other; each begins by recovering every pool."""
        while True:
            await self._follow()
            self._leading = True
            for desk in self.registry.desks():
                self._open(desk)
            self.registry.changed.set()
            self._stale.set()
            await self._leadership.lost()
            self._leading = False
            await self._term.end()
            self._serving.clear()
            for desk in self.registry.desks():
                self._consider_all(desk.abandon())

    async def _follow(self) -> None:
        """Returns once this replica leads."""
        while True:
            try:
                async with asyncio.timeout(TIDY):
                    return await self._leadership.gained()
            except TimeoutError:
                for desk in self.registry.desks():
                    desk.tidy()

    async def _sweep(self) -> None:
        while await self._stale.wait():
            self._stale.clear()
            await self.intake.sweep()
