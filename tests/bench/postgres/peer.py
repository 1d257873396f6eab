"""The same of the PyPI package wicket: its PostgreSQL store commits one grant at a time."""

import asyncio
import time
from datetime import timedelta

import wicket
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from wicket.postgres import PostgresBacklog, PostgresLedger, metadata

from .task import Done, Task, meet, name

type Line = list[wicket.Waiting]

WAITING = 1_200
"""Tickets of each process, in all its pools; a process whose line is empty ends."""
LEASE = timedelta(days=1)


def engine(url: str) -> AsyncEngine:
    """To a server of the tests."""
    host = url.partition("?host=")[2]
    return create_async_engine(f"postgresql+asyncpg://postgres@/postgres?host={host}")


def prepare(url: str, pools: int, operators: int) -> None:
    """Makes its tables anew, with tickets for each operator in each pool."""
    asyncio.run(_prepare(url, pools, operators))


async def _prepare(url: str, pools: int, operators: int) -> None:
    made = engine(url)
    async with made.begin() as connection:
        await connection.run_sync(metadata.drop_all)
        await connection.run_sync(metadata.create_all)
    async with AsyncSession(made) as session, session.begin():
        backlog = PostgresBacklog(session)
        for pool in range(pools):
            for operator in range(operators):
                for n in range(WAITING // pools):
                    ticket = wicket.Ticket(f"{operator}-{n}", f"tenant-{n % 100}")
                    await backlog.submit(name(pool), ticket)
    await made.dispose()


def decide(task: Task) -> Done:
    """Grants in the pools in turn, until its time or its line is over."""
    return asyncio.run(_decide(task))


async def _decide(task: Task) -> Done:
    made = engine(task.url)
    ledger = PostgresLedger(made, timedelta(days=1))
    views = {n: await ledger.view(name(n)) for n in range(task.pools)}
    mine = {n: _own(view.waiting, task.number) for n, view in views.items()}
    versions = {n: view.version for n, view in views.items()}
    fairness = wicket.Fairness(0, tuple((f"tenant-{n}", n) for n in range(1, task.tenants + 1)))
    meet()
    since = time.monotonic()
    used, commits, conflicts, pool = time.process_time(), [], 0, task.number % task.pools
    while time.monotonic() < since + task.seconds and any(mine.values()):
        pool = (pool + 1) % task.pools
        if not mine[pool]:
            continue
        began = time.perf_counter()
        answer = await ledger.grant(
            name(pool), mine[pool][-1], version=versions[pool], lease=LEASE, fairness=fairness
        )
        if isinstance(answer, wicket.Permit):
            commits.append(time.perf_counter() - began)
            versions[pool] = answer.token
            mine[pool].pop()
        else:
            conflicts += 1
            versions[pool] = (await ledger.view(name(pool))).version
    processor, seconds = time.process_time() - used, time.monotonic() - since
    await made.dispose()
    return Done(len(commits), conflicts, processor, commits, seconds)


def _own(waiting: tuple[wicket.Waiting, ...], number: int) -> Line:
    """The tickets that were made for an operator."""
    return [one for one in waiting if one.ticket.id.startswith(f"{number}-")]
