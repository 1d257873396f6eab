"""The engine: its rooms joined, and the doors by which the Kubernetes shell enters."""

from collections.abc import Iterable

import structlog

from kwicket.core.catalog import Catalog
from kwicket.core.jobs import JobSeen, NamespaceSeen, NodeSeen, PodSeen
from kwicket.engine.alarms import Alarms
from kwicket.engine.audit import Audit
from kwicket.engine.census import Census
from kwicket.engine.grant import Grants
from kwicket.engine.intake import Intake
from kwicket.engine.lapses import Lapses
from kwicket.engine.leading import Leading
from kwicket.engine.leases import Leases
from kwicket.engine.lists import Lists
from kwicket.engine.parting import parting_with
from kwicket.engine.permit import Permit
from kwicket.engine.readings import Readings
from kwicket.engine.recovery import Recovery
from kwicket.engine.registry import Registry
from kwicket.engine.release import Releases
from kwicket.engine.replacements import Replacements
from kwicket.engine.reports import Reports
from kwicket.engine.rests import Rests
from kwicket.engine.sharing import Sharing
from kwicket.engine.strays import Strays
from kwicket.engine.suspensions import Suspensions
from kwicket.engine.sweeps import Sweeps
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
        sharing: Sharing | None = None,
    ) -> None:
        """`sharing` joins it to other clusters, where the ledger is one that they share."""
        self._sharing = sharing
        self._leadership = leadership
        self.lists = Lists(ledger, cluster)
        self._term = Term(spawn)
        self.census = Census()
        self.registry = Registry(clock, shared=sharing is not None)
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
        self._sweeps = Sweeps(self.intake.sweep)
        self._audit = Audit(
            self.census, self.registry, self.intake, self._alarms, self._sweeps, metrics, clock
        )
        self._heed_suspensions(cluster, ledger, notices, metrics)
        self.reports, self.readings = self._telling(notices, clock)
        self._spawn = spawn
        self._leading = self._leading_with(ledger, cluster, notices, metrics, clock)

    def _telling(self, notices: Notices, clock: Clock) -> tuple[Reports, Readings]:
        reports = Reports(
            registry=self.registry,
            census=self.census,
            leases=self.leases,
            permit=self.permit,
            notices=notices,
            clock=clock,
            leadership=self._leadership,
        )
        readings = Readings(
            registry=self.registry,
            intake=self.intake,
            permit=self.permit,
            leadership=self._leadership,
            clock=clock,
        )
        return reports, readings

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

    def _leading_with(
        self, ledger: Ledger, cluster: Cluster, notices: Notices, metrics: Metrics, clock: Clock
    ) -> Leading:
        return Leading(
            leadership=self._leadership,
            term=self._term,
            turns=self._turns_with(ledger, cluster, notices, metrics, clock),
            registry=self.registry,
            intake=self.intake,
            consider=self._consider_all,
            sweeps=self._sweeps,
            parting=parting_with(
                self._sharing, cluster, self.census, self.leases, clock, self._term.spawn
            ),
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
            sweeps=self._sweeps,
            leases=self.leases,
            lists=self.lists,
            sharing=self._sharing,
        )
        grants = Grants(
            census=self.census,
            intake=self.intake,
            permit=self.permit,
            ledger=ledger,
            cluster=cluster,
            notices=notices,
            metrics=metrics,
            clock=clock,
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
            sharing=self._sharing,
        )

    def start(self) -> None:
        """Starts the tasks that every pool shares."""
        self._spawn(self.reports.run(), name="reports")
        self._spawn(self.reports.declared(), name="declared")
        self._spawn(self._sweeps.run(), name="sweep")
        self._spawn(self._leading.run(), name="lead")
        self._spawn(self._alarms.run(self._consider), name="alarms")
        self._spawn(self._audit.run(), name="audit")

    def declare(self, catalog: Catalog) -> None:
        """Takes the Pools, Lanes and Limits as they are now."""
        if self.registry.declare(catalog, self._leading.open, self._leading.close):
            self._sweeps.stale.set()

    def enforce(self, enforcement: Enforcement) -> None:
        """Takes what is known of the policies now; until the first word nothing is granted."""
        if not self.permit.take(enforcement):
            return
        log = _log.info if enforcement.in_force else _log.warning
        log("policies", state=enforcement.reason, why=enforcement.message)
        for desk in self.registry.desks():
            desk.wake()
        self._report_all()
        self._sweeps.stale.set()

    def rung(self, pool: str | None) -> None:
        """Another cluster may have written the ledger of a pool; None: of any."""
        for desk in self.registry.desks():
            if desk.share is not None and pool in (None, desk.name):
                desk.share.behind = True
                desk.wake()

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
        """A Job is gone, which may have a slot though it was not known."""
        self.census.drop_job(uid)
        self._consider(uid)

    def saw_pod(self, pod: PodSeen) -> None:
        """A pod was created, changed or listed."""
        self._consider_all(self.census.take_pod(pod))

    def lost_pod(self, pod: PodSeen) -> None:
        """A pod is gone."""
        self._consider_all(self.census.drop_pod(pod))

    def saw_namespace(self, namespace: NamespaceSeen) -> None:
        """A namespace was created, changed or listed; its Jobs, if any, are left to a sweep."""
        known, name = self.census.jobs(), namespace.name
        if self.census.take_namespace(namespace) and any(job.namespace == name for job in known):
            self._sweeps.stale.set()

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
