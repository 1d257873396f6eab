"""The composition root: the only file that sees all rooms."""

import asyncio
import contextlib
import gc
import signal
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import NamedTuple

import aiohttp
import structlog

from kwicket.engine.engine import Engine
from kwicket.kube.access import Access, load_access
from kwicket.kube.client import Client
from kwicket.kube.clock import SystemClock
from kwicket.kube.cluster import (
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    Jobs,
    KubernetesCluster,
    Namespaces,
    Nodes,
    Pods,
)
from kwicket.kube.declarations import Declarations
from kwicket.kube.elector import Elector
from kwicket.kube.events import Events
from kwicket.kube.metrics import gauges
from kwicket.kube.metrics.counters import OperatorCounters, WebhookCounters
from kwicket.kube.metrics.endpoint import Endpoint, new_registry
from kwicket.kube.notices import KubernetesNotices
from kwicket.kube.patience import answered
from kwicket.kube.policy_watch import PolicyWatch
from kwicket.kube.probes import Probes
from kwicket.kube.reflector import Reflector, Sink
from kwicket.kube.statuses import Statuses
from kwicket.kube.unelected import Unelected
from kwicket.kube.watching import Watching
from kwicket.kube.webhook.caches import Caches
from kwicket.kube.webhook.certificates import Certificates
from kwicket.kube.webhook.grantors import Grantors
from kwicket.kube.webhook.paths import Paths
from kwicket.kube.webhook.server import Server
from kwicket.ledgers import Ledgers, ledgers
from kwicket.settings import Settings, WebhookSettings

_log = structlog.get_logger(__name__)


class _Reflectors(NamedTuple):
    jobs: Jobs
    pods: Pods
    namespaces: Namespaces
    nodes: Nodes

    def synced(self) -> bool:
        """Whether every kind was listed once."""
        return all(reflector.synced.is_set() for reflector in self)


async def operate(settings: Settings) -> None:
    """Runs the operator until SIGTERM or SIGINT, or until cancelled.

    Raises AccessError if there are no usable credentials, OSError if the probes' address is taken,
    ValueError if the schema of a PostgreSQL ledger is not one that we can work with.
    """
    access = await load_access(settings.kubeconfig, settings.context)
    async with api_session(access) as session:
        await _until_told(_work(settings, access, session))
    # Else the interpreter, at its end, looks through all that there is for what nobody needs.
    gc.freeze()


async def admit(settings: WebhookSettings) -> None:
    """Runs the webhook until SIGTERM or SIGINT, or until cancelled; then answers what is under way.

    Raises AccessError if there are no usable credentials, CertificateError if there is no
    certificate, OSError if an address is taken.
    """
    access = await load_access(settings.kubeconfig, settings.context)
    certificates = Certificates(settings.certificate, settings.key)
    async with api_session(access) as session:
        await _until_told(_answer(settings, certificates, Client(access, session)))


async def _until_told(work: Coroutine[None, None, None]) -> None:
    """Runs it until a signal says to stop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    working = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
    stopped.cancel()
    if not working.done():
        _log.info("stopping")
        working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working


async def _answer(settings: WebhookSettings, certificates: Certificates, client: Client) -> None:
    """Ready as soon as it listens: what the caches don't know yet is let through."""
    caches = Caches(client)
    paths = Paths(caches, Grantors(client))
    registry = new_registry()
    registry.register(gauges.of_reflectors(caches.reflectors))
    registry.register(gauges.of_certificates(certificates))
    reviewed = WebhookCounters(registry).reviewed
    server = Server(settings.listen, certificates.context, paths.by_path, reviewed)
    probes = Probes(settings.probes, lambda: True)
    endpoint = Endpoint(settings.metrics, registry)
    async with server, probes, endpoint, asyncio.TaskGroup() as group:
        group.create_task(caches.run(), name="caches")
        group.create_task(certificates.run(), name="certificates")
        _log.info("answers reviews", port=server.port)


@contextlib.asynccontextmanager
async def api_session(access: Access) -> AsyncIterator[aiohttp.ClientSession]:
    """The HTTP session that all requests to this API server share."""
    connector = aiohttp.TCPConnector(limit=0, ssl=access.tls or True)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        yield session


async def _work(settings: Settings, access: Access, session: aiohttp.ClientSession) -> None:
    """Only the elector writes without leading."""
    elector = _elector(settings, Client(access, session), SystemClock())
    client = Client(access, session, elector.leads)
    async with ledgers(settings.shared, client) as found:
        await _operate(settings, access, client, elector, found)


async def _operate(
    settings: Settings,
    access: Access,
    client: Client,
    elector: Elector | Unelected,
    found: Ledgers,
) -> None:
    """Everything runs in one task group: what ends unexpectedly ends the operator.

    The Lease is given back after that.
    """
    events, statuses = Events(client, settings.identity), Statuses(client, SystemClock())
    reflectors = _Reflectors(
        Reflector(client, JOBS),
        Reflector(client, PODS),
        Reflector(client, NAMESPACES),
        Reflector(client, NODES),
    )
    registry = new_registry()
    registry.register(gauges.of_reflectors(reflectors))
    probes = Probes(settings.probes, reflectors.synced)
    endpoint = Endpoint(settings.metrics, registry)
    async with probes, endpoint, elector, asyncio.TaskGroup() as group:
        notices = KubernetesNotices(events, statuses)
        cluster = KubernetesCluster(client, reflectors.jobs, reflectors.pods)
        engine = _engine(found, cluster, notices, elector, OperatorCounters(registry), group)
        for chore in found.chores:
            group.create_task(chore(engine.rung))
        registry.register(gauges.of_engine(engine.readings.read))
        declarations = Declarations(
            client, statuses, engine.declare, engine.registry.saw_status, elector
        )
        engine.start()
        policies = PolicyWatch(client, settings.namespace, engine.enforce)
        engine.permit.reread = policies.read
        group.create_task(policies.run(), name="policies")
        group.create_task(events.run(), name="events")
        await answered(declarations.load)
        group.create_task(declarations.run(), name="declarations")
        watching = Watching(access, declarations.seen, declarations.gone, declarations.served)

        def went_back() -> None:
            engine.went_back()
            watching.renew()

        await _follow(group, engine, reflectors, went_back)
        group.create_task(elector.run(), name="elector")
        with _watching(watching):
            await asyncio.Event().wait()


def _engine(
    found: Ledgers,
    cluster: KubernetesCluster,
    notices: KubernetesNotices,
    elector: Elector | Unelected,
    metrics: OperatorCounters,
    group: asyncio.TaskGroup,
) -> Engine:
    return Engine(
        ledger=found.ledger,
        cluster=cluster,
        notices=notices,
        clock=found.clock,
        leadership=elector,
        metrics=metrics,
        spawn=group.create_task,
        sharing=found.sharing,
    )


def _elector(settings: Settings, client: Client, clock: SystemClock) -> Elector | Unelected:
    identity = f"{settings.identity}_{uuid.uuid4().hex[:8]}"
    kind = Elector if settings.election else Unelected
    return kind(client, clock, namespace=settings.namespace, identity=identity)


async def _follow(
    group: asyncio.TaskGroup,
    engine: Engine,
    reflectors: _Reflectors,
    back: Callable[[], None],
) -> None:
    """Namespaces and nodes first, since Jobs are placed and pods judged by them.

    `back` hears that the cluster went back to an older backup.
    """
    namespaces, nodes = reflectors.namespaces, reflectors.nodes
    of_namespaces = Sink(
        engine.saw_namespace, lambda gone: engine.lost_namespace(gone.name), went_back=back
    )
    of_nodes = Sink(engine.saw_node, lambda gone: engine.lost_node(gone.name), went_back=back)
    group.create_task(namespaces.run(of_namespaces), name="namespaces")
    group.create_task(nodes.run(of_nodes), name="nodes")
    foreseen = engine.lists.foresee(engine.registry.desks())
    await asyncio.gather(namespaces.synced.wait(), nodes.synced.wait(), foreseen)
    jobs, pods = reflectors.jobs, reflectors.pods
    of_jobs = Sink(engine.saw_job, lambda gone: engine.lost_job(gone.uid), engine.listed_job, back)
    of_pods = Sink(engine.saw_pod, engine.lost_pod, went_back=back)
    group.create_task(jobs.run(of_jobs), name="jobs")
    group.create_task(pods.run(of_pods), name="pods")
    await asyncio.gather(jobs.synced.wait(), pods.synced.wait())
    gc.freeze()
    _log.info("synced")


@contextlib.contextmanager
def _watching(watching: Watching) -> Iterator[None]:
    watching.start()
    try:
        yield
    finally:
        watching.stop()
