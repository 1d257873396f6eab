"""How the components of a plane come up, in order, and go down, in any state."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from e2e.plane import credentials, kubeconfigs, processes, readiness, tenants
from e2e.plane.components import CLIENTS, SERVER, STORE, command
from e2e.plane.errors import PlaneError
from e2e.plane.layout import Layout, Ports, State

START_SECONDS = 60
PATIENCE_SECONDS = 5
WATCH_SECONDS = 0.1
ALL = (STORE, SERVER, *CLIENTS)


def is_up(layout: Layout) -> bool:
    """Whether a start was finished here and every component still runs."""
    state = layout.read_state()
    return state is not None and state.ready and not _dead(layout, ALL)


def start(layout: Layout, emulate: str | None, say: Callable[[str], None]) -> None:
    """Start a new plane, after the remains of an earlier one are gone; on failure nothing runs."""
    stop(layout)
    for leftover in (layout.pods, layout.kubeconfigs):
        shutil.rmtree(leftover)
    layout.prepare()
    try:
        _start(layout, State(Ports.free(), emulate), say)
    except BaseException:
        stop(layout)
        raise


def stop(layout: Layout) -> None:
    """Stop every component and container, whatever is left of them; return when all are gone."""
    for names in (CLIENTS, (SERVER,), (STORE,)):
        records = [_record(layout, name) for name in names]
        processes.stop(records, patience_seconds=PATIENCE_SECONDS)
        for record in records:
            record.unlink(missing_ok=True)
    processes.stop_marked(processes.CONTAINER_MARK, layout.root)
    processes.stop_marked(processes.COMPONENT_MARK, layout.root)
    layout.state.unlink(missing_ok=True)
    shutil.rmtree(layout.etcd, ignore_errors=True)


def run[T](work: Coroutine[None, None, T]) -> T:
    """Run `work` to its end, also where the caller is inside an event loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def _start(layout: Layout, state: State, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    layout.write_state(state)
    _write_kubeconfigs(layout, state)
    admin, alice = layout.kubeconfig("admin"), layout.kubeconfig("alice")
    say("starting etcd and kube-apiserver")
    _launch(layout, state, (STORE, SERVER))
    run(_guarded(layout, (STORE, SERVER), readiness.server_answers(admin)))
    say(f"starting {', '.join(CLIENTS)}")
    _launch(layout, state, CLIENTS)
    run(_guarded(layout, ALL, tenants.bind(admin, "plane-tenants")))
    run(_guarded(layout, ALL, readiness.settled(admin, alice)))
    layout.write_state(State(state.ports, state.emulate, ready=True))
    say(f"up in {time.monotonic() - began:.1f} s")


def _write_kubeconfigs(layout: Layout, state: State) -> None:
    server = f"https://127.0.0.1:{state.ports.api}"
    for user, token in credentials.make(layout).items():
        kubeconfigs.for_token(server, layout.secrets / "ca.crt", token, layout.kubeconfig(user))


def _launch(layout: Layout, state: State, names: tuple[str, ...]) -> None:
    environment = {**os.environ, processes.COMPONENT_MARK: str(layout.root)}
    for name in names:
        argv = command(name, layout, state)
        record, log = _record(layout, name), _log(layout, name)
        processes.start(argv, record=record, log=log, environment=environment)


async def _guarded(
    layout: Layout, names: tuple[str, ...], work: Coroutine[None, None, None]
) -> None:
    """Await `work`; raise PlaneError as soon as a component is dead, or after START_SECONDS."""
    task = asyncio.ensure_future(work)
    deadline = time.monotonic() + START_SECONDS
    try:
        while not (await asyncio.wait([task], timeout=WATCH_SECONDS))[0]:
            if dead := _dead(layout, names):
                raise PlaneError(_died(dead[0], _log(layout, dead[0])))
            if time.monotonic() > deadline:
                raise PlaneError(f"Not up after {START_SECONDS} s: see {layout.logs}.")
        await task
    finally:
        task.cancel()


def _died(name: str, log: Path) -> str:
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
    return f"{name} ended while it started. The end of {log}:\n{tail}"


def _dead(layout: Layout, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if not processes.is_alive(_record(layout, name))]


def _record(layout: Layout, name: str) -> Path:
    return layout.run / f"{name}.pid"


def _log(layout: Layout, name: str) -> Path:
    return layout.logs / f"{name}.log"
