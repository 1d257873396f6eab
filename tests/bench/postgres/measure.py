"""One size of the benchmark: some operators, some pools, states of some tenants."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import asyncpg
from msgspec import Struct

from kwicket.ports.ledger import Page
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.postgres import PostgresLedger
from support.servers import Server

from .table import first
from .task import Done, Task, meet_at, name


class Size(Struct, frozen=True):
    """What is measured."""

    operators: int
    pools: int
    tenants: int
    waiting: int
    """Jobs of each operator in each pool."""


class Figures(Struct, frozen=True):
    """What came out. Processor time is what an idle machine is judged by."""

    grants_per_second: float
    conflicts_per_grant: float
    p50_ms: float
    p99_ms: float
    client_ms_per_commit: float
    """Processor time of all operators, conflicts included, for each commit that was one."""
    deciding_ms_per_commit: float
    """So much of it went into the decisions and all else that is done on books."""
    server_ms_per_commit: float


def prepare(url: str, size: Size) -> None:
    """Makes the pages anew."""
    asyncio.run(_prepare(url, size))


async def _prepare(url: str, size: Size) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("TRUNCATE kwicket.pools, kwicket.grants; CHECKPOINT")
    await connection.close()
    connections = Connections(url)
    ledger = PostgresLedger(connections, Cluster("bench"))
    for number in range(size.pools):
        assert isinstance(await ledger.open(name(number), first(size.tenants)), Page)
    await connections.close()


def measure(server: Server, size: Size, seconds: float, decide: Callable[[Task], Done]) -> Figures:
    """Has the operators decide for so long."""
    context = get_context("spawn")
    gate = context.Barrier(size.operators)
    with ProcessPoolExecutor(size.operators, context, meet_at, (gate,)) as processes:
        used = processor_time(server)
        tasks = [
            Task(
                server.url, number, size.operators, size.pools, size.tenants, size.waiting, seconds
            )
            for number in range(size.operators)
        ]
        done = list(processes.map(decide, tasks))
    time.sleep(0.2)  # the server counts the time of a connection when that has ended
    return _figures(done, processor_time(server) - used)


def _figures(done: Sequence[Done], served: float) -> Figures:
    commits = sorted(second for one in done for second in one.commits)
    grants, count = sum(one.grants for one in done), max(len(commits), 1)
    seconds = max(one.seconds for one in done)
    at = {n: commits[len(commits) * n // 100] if commits else 0.0 for n in (50, 99)}
    return Figures(
        grants_per_second=round(grants / seconds, 1),
        conflicts_per_grant=round(sum(one.conflicts for one in done) / max(grants, 1), 3),
        p50_ms=round(1000 * at[50], 2),
        p99_ms=round(1000 * at[99], 2),
        client_ms_per_commit=round(1000 * sum(one.processor for one in done) / count, 3),
        deciding_ms_per_commit=round(1000 * sum(one.deciding for one in done) / count, 3),
        server_ms_per_commit=round(1000 * served / count, 3),
    )


def processor_time(server: Server) -> float:
    """Seconds that the server and all its processes have used so far."""
    parent = int((server.data / "postmaster.pid").read_text().split()[0])
    ticks = sum(_ticks(parent, waited=True)[1:])
    for process in Path("/proc").glob("[0-9]*"):
        found = _ticks(int(process.name))
        if found[0] == parent:
            ticks += sum(found[1:])
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(process: int, *, waited: bool = False) -> list[int]:
    """The parent of a process, and what it used; with `waited` what its ended children used too."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return [0, 0, 0]
    return [int(fields[1]), *map(int, fields[11 : 15 if waited else 13])]
