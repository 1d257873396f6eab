"""How the components of a plane come up, in order, and go down, in any state."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from e2e.plane import credentials, kubeconfigs, processes, readiness, tenants
from e2e.plane.components import CLIENTS, GATE, NODES, SERVER, STORE, command, names
from e2e.plane.errors import PlaneError
from e2e.plane.layout import Layout, State
from e2e.plane.node import cgroups
from e2e.plane.node.images import INIT

START_SECONDS = 60
PATIENCE_SECONDS = 5
WATCH_SECONDS = 0.1
AUDIT = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, userGroups: ["system:serviceaccounts:%s"]}
  - {level: None}
"""


def is_up(layout: Layout) -> bool:
    """Whether a start was finished here and every component still runs."""
    state = layout.read_state()
    return state is not None and state.ready and not _dead(layout, names(state.node))


def start(layout: Layout, state: State, say: Callable[[str], None]) -> None:
    """Start a new plane, after the remains of an earlier one are gone; on failure nothing runs."""
    stop(layout)
    for leftover in (layout.pods, layout.kubeconfigs):
        shutil.rmtree(leftover)
    layout.prepare()
    try:
        _start(layout, state, say)
    except BaseException:
        stop(layout)
        raise


def stop(layout: Layout) -> None:
    """Stop every component and container, whatever is left of them; return when all are gone."""
    _stop(layout, (INIT, NODES["real"]), 0)
    for group in ((*CLIENTS, NODES["agent"]), (SERVER,), (STORE,), (GATE,)):
        _stop(layout, group, PATIENCE_SECONDS)
    processes.stop_marked(processes.CONTAINER_MARK, layout.root)
    processes.stop_marked(processes.COMPONENT_MARK, layout.root)
    cgroups.remove(layout)
    layout.state.unlink(missing_ok=True)
    for folder in (layout.etcd, layout.node):
        shutil.rmtree(folder, ignore_errors=True)


def halt(layout: Layout, group: tuple[str, ...]) -> None:
    """Stop some components; return when they are gone."""
    _stop(layout, group, PATIENCE_SECONDS)


def resume(layout: Layout, state: State, group: tuple[str, ...]) -> None:
    """Start what `halt` stopped; return when the API server answers."""
    _launch(layout, state, group)
    admin = layout.kubeconfig("admin")
    run(_guarded(layout, names(state.node), readiness.server_answers(admin)))


def run[T](work: Coroutine[None, None, T]) -> T:
    """Run `work` to its end, also where the caller is inside an event loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def _stop(layout: Layout, group: tuple[str, ...], patience_seconds: float) -> None:
    records = [layout.record(name) for name in group]
    processes.stop(records, patience_seconds=patience_seconds)
    for record in records:
        record.unlink(missing_ok=True)


def _start(layout: Layout, state: State, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    layout.write_state(state)
    _write_kubeconfigs(layout, state)
    layout.audit_policy.write_text(AUDIT % state.audited)
    admin = layout.kubeconfig("admin")
    everything = names(state.node)
    if GATE in everything:
        _launch(layout, state, (GATE,))
        run(_guarded(layout, (GATE,), readiness.accepts(state.ports.api)))
    say("starting etcd and kube-apiserver")
    _launch(layout, state, (STORE, SERVER))
    run(_guarded(layout, (STORE, SERVER), readiness.server_answers(admin)))
    clients = (*CLIENTS, NODES[state.node])
    say(f"starting {', '.join(clients)}")
    _launch(layout, state, clients)
    run(_guarded(layout, everything, tenants.bind(admin)))
    run(_guarded(layout, everything, readiness.settled(admin)))
    layout.write_state(msgspec.structs.replace(state, ready=True))
    say(f"up in {time.monotonic() - began:.1f} s")


def _write_kubeconfigs(layout: Layout, state: State) -> None:
    server = f"https://127.0.0.1:{state.ports.api}"
    for user, token in credentials.make(layout).items():
        kubeconfigs.for_token(server, layout.secrets / "ca.crt", token, layout.kubeconfig(user))


def _launch(layout: Layout, state: State, group: tuple[str, ...]) -> None:
    environment = {**os.environ, processes.COMPONENT_MARK: str(layout.root)}
    for name in group:
        argv = command(name, layout, state)
        record, log = layout.record(name), _log(layout, name)
        processes.start(argv, record=record, log=log, environment=environment)


async def _guarded(
    layout: Layout, group: tuple[str, ...], work: Coroutine[None, None, None]
) -> None:
    """Await `work`; raise PlaneError as soon as a component is dead, or after START_SECONDS."""
    task = asyncio.ensure_future(work)
    deadline = time.monotonic() + START_SECONDS
    try:
        while not (await asyncio.wait([task], timeout=WATCH_SECONDS))[0]:
            if dead := _dead(layout, group):
                raise PlaneError(_died(dead[0], _log(layout, dead[0])))
            if time.monotonic() > deadline:
                raise PlaneError(f"Not up after {START_SECONDS} s: see {layout.logs}.")
        await task
    finally:
        task.cancel()


def _died(name: str, log: Path) -> str:
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
    return f"{name} ended while it started. The end of {log}:\n{tail}"


def _dead(layout: Layout, group: tuple[str, ...]) -> list[str]:
    return [name for name in group if not processes.is_alive(layout.record(name))]


def _log(layout: Layout, name: str) -> Path:
    return layout.logs / f"{name}.log"
