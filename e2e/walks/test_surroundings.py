"""What befalls an operator where it runs: its clock, its log's reader, who scrapes it, its token.

Rows 31, 40 and 41 of the fault matrix.
"""

import asyncio
import base64
import fcntl
import os
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from e2e import altered, load, operators
from e2e.observer import Observer
from e2e.operators import ALONE
from e2e.plane import kubeconfigs
from e2e.plane.api import Api, ApiError
from e2e.plane.connection import current
from e2e.recoveries import Recovered
from e2e.walks.conftest import Pools
from e2e.walks.test_failpoints import LIMIT, submit
from e2e.walks.test_network import all_once
from e2e.walks.test_servers import has_completed
from e2e.walks.test_telling import create

DAY = 24 * 3600
SYSTEM = "/api/v1/namespaces/kwicket-system"
METRICS = "127.0.0.1:18327"


async def test_a_wall_clock_that_jumps_two_days_each_second_harms_nothing(
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Row 31: no limit is exceeded, nothing lapses, and tokens rise."""
    monkeypatch.setenv(altered.CLOCK, f"{DAY},{-DAY}")
    pool = await pools.pool(limit=LIMIT, lease={"duration": "10s", "startWithin": "10s"})
    await submit(api, namespace, pool, "1.2")
    with operators.running(account, tmp_path / "operator.log", module="e2e.altered"):
        await all_once(observer, 6, pools, pool)
    by_start = sorted(observer.tokens, key=lambda job: observer.started[job])
    rounds = [by_start[first : first + LIMIT] for first in range(0, 6, LIMIT)]
    for earlier, later in pairwise(rounds):
        tokens = [{observer.tokens[job][0] for job in jobs} for jobs in (earlier, later)]
        assert max(tokens[0]) < min(tokens[1])


async def test_after_a_clock_that_was_a_day_ahead_one_that_is_a_day_behind_keeps_the_rate(
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Row 31: starts that are stamped in the future count, and tokens go on."""
    pool = await pools.pool()
    await pools.declare("limits", "rate", {"pool": pool, "rate": {"starts": 3, "per": "1h"}})
    for name, shift, most in (("early", DAY, 2), ("late", -DAY, 3)):
        monkeypatch.setenv(altered.CLOCK, str(shift))
        with operators.running(account, tmp_path / "operator.log", module="e2e.altered"):
            for number in range(2):
                await create(api, namespace, f"{name}-{number}", pool=pool)
            await observer.until(has_completed(most))
            await pools.until(pool, waiting=4 - most if name == "late" else 0, running=0)
    tokens = [observer.tokens[job][0] for job in sorted(observer.tokens)]
    assert len(tokens) == 3
    assert tokens == sorted(tokens)


@pytest.fixture
def unread(tmp_path: Path) -> Iterator[Path]:
    """A pipe of one page that nobody reads, as a log."""
    path = tmp_path / "log"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reading, fcntl.F_SETPIPE_SZ, 4096)
    yield path
    os.close(reading)


async def test_an_operator_whose_log_and_metrics_nobody_reads_goes_on(
    account: Path,
    unread: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
) -> None:
    """Row 40: the log's pipe is full, and scrapes hang."""
    pool = await pools.pool(limit=LIMIT)
    await submit(api, namespace, pool)
    host, _, port = METRICS.partition(":")
    with operators.running(account, unread, *ALONE, "--metrics", METRICS) as operator:
        await observer.until(lambda o: bool(o.started))
        hanging = [await asyncio.open_connection(host, int(port)) for _ in range(20)]
        for _, writer in hanging:
            writer.write(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n" * 2)
        await all_once(observer, 6, pools, pool)
        more = (load.labelled_job(f"more-{n}", "dave", ["true"], pool=pool) for n in range(20))
        begin = time.monotonic()
        await load.create_jobs(api, namespace, more)
        await observer.until(lambda o: any(job.startswith("more-") for job in o.started))
        first = min(at for job, at in observer.started.items() if job.startswith("more-"))
        recovered("40", "nobody reads its log, and 20 scrapes hang; the next Job", first - begin)
        await observer.until(lambda o: len(o.complete) == 26)
        for _, writer in hanging:
            writer.transport.abort()
        assert operator.alive


async def bound_token(api: Api, secret: str) -> str:
    """A token of the operator that is good for as long as this Secret is there."""
    await api.create(f"{SYSTEM}/secrets", {"metadata": {"name": secret}})
    bound = {"apiVersion": "v1", "kind": "Secret", "name": secret}
    spec = {"expirationSeconds": 3600, "boundObjectRef": bound}
    made = await api.create(f"{SYSTEM}/serviceaccounts/kwicket/token", {"spec": spec})
    return str(made["status"]["token"])


async def test_a_token_that_is_replaced_while_it_watches_is_taken_up(
    account: Path,
    tmp_path: Path,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    recovered: Recovered,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Row 41: the old one is good for nothing right after."""
    cluster, _ = current(account)
    authority = tmp_path / "ca.crt"
    authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    old, new = [f"{namespace}-{name}" for name in ("old", "new")]
    token = await bound_token(api, old)
    former = kubeconfigs.for_token(cluster["server"], authority, token, tmp_path / "former.yaml")
    (tmp_path / "token").write_text(token)
    monkeypatch.setenv(altered.SECRETS, str(tmp_path))
    pool = await pools.pool()
    with operators.running(account, tmp_path / "operator.log", module="e2e.altered"):
        await create(api, namespace, "first", pool=pool)
        await observer.until(lambda o: "first" in o.complete)
        (tmp_path / "token").write_text(await bound_token(api, new))
        begin = time.monotonic()
        await api.delete(f"{SYSTEM}/secrets/{old}")
        await is_void(former)
        await create(api, namespace, "second", pool=pool)
        await observer.until(lambda o: "second" in o.complete)
        took = observer.started["second"] - begin
        recovered("41", "its token is replaced, and the former one void", took)
    await api.delete(f"{SYSTEM}/secrets/{new}")


async def is_void(kubeconfig: Path) -> None:
    """Waits until the API server takes this token no more; it believes in one for some seconds."""
    async with Api.open(kubeconfig) as former, asyncio.timeout(60):
        while True:
            try:
                await former.list(f"{load.GROUP}/pools", limit="1")
            except ApiError as error:
                if error.status == 401:
                    return
                raise
            await asyncio.sleep(0.2)
