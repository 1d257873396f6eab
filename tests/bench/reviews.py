"""`python -m tests.bench.reviews`: measures `kwicket webhook` over TLS and prints the figures."""

import asyncio
import contextlib
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import click
import yaml
from msgspec import Struct, to_builtins

from support.api_server import LANES, LIMITS, NAMESPACES, POOLS, ApiServer
from support.reviews import encoded, job, put, review, trust

from .load import Connection, flood, opened, pace

LEAST_A_CORE = 3_000
MOST_P99_MS = 10.0
RATE = 1_000
"""Reviews a second for the latency."""
SECONDS = 2.0
"""Length of a run for the latency."""
CONNECTIONS = 16
WARM = 500
SIZES = (0.1, 0.9, 1.1, 3, 6, 20)
"""MiB of reviews for the memory."""


class Latency(Struct):
    """Of one run at a steady rate, in milliseconds."""

    p50_ms: float
    p99_ms: float
    worst_ms: float
    others: float
    """The part of this machine that processes other than the server and its load have used."""


class Figures(Struct):
    """What was measured; rates a core are by the server's own processor time."""

    python: str
    bytes_a_review: int
    mutations_a_core: float
    judgements_a_core: float
    a_core: float
    """Reviews a second, both kinds by turns."""
    a_second: float
    """The same by the clock, with the load on the same machine."""
    latency: Latency
    """Of the run whose p99 is the median of all."""
    best: Latency
    worst: Latency
    peak_mib: float
    """Of memory, under these small reviews."""
    peak_large_mib: float
    """The same after reviews of up to 20 MiB on all connections at once, and 40 MiB refused."""

    @property
    def reached(self) -> bool:
        """Whether the figures are what they have to be."""
        return self.a_core >= LEAST_A_CORE and self.latency.p99_ms < MOST_P99_MS


@click.command()
@click.option("--reviews", default=20_000, show_default=True, help="Reviews for each rate.")
@click.option("--runs", default=10, show_default=True, help="Runs of two seconds for the latency.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def main(reviews: int, runs: int, as_json: bool) -> None:
    """The webhook as a process: reviews of new Jobs with a tenant, over TLS connections that are
    kept. It knows 20 Pools, 100 Lanes, 100 Limits and 1,000 namespaces.

    Rates are by the server's own processor time, so that what else runs here counts little. The
    latency is at 1,000 reviews a second, from the time at which a review is due; the run whose p99
    is the median of all runs counts. Memory is the peak that the kernel tells of the process, which
    the chart limits to 512 MiB.
    """
    figures = asyncio.run(_measure(reviews, runs))
    plain = to_builtins(figures) | {
        "targets": {"a_core": LEAST_A_CORE, "p99_ms": MOST_P99_MS},
        "reached": figures.reached,
    }
    lines = [f"{name:18} {value}" for name, value in plain.items()]
    click.echo(json.dumps(plain, indent=2) if as_json else "\n".join(lines))


async def _measure(total: int, runs: int) -> Figures:
    mutate, judge = (
        [_request(path, number) for number in range(100)]
        for path in ("/mutate-jobs", "/validate-jobs")
    )
    both = [request for pair in zip(mutate, judge, strict=True) for request in pair]
    async with ApiServer() as api, _webhook(api) as (pid, port), AsyncExitStack() as stack:
        connections = await opened(stack, CONNECTIONS, port, trust("old"))
        await flood(connections, both, WARM)
        a_core = {}
        for name, requests in {"mutations": mutate, "judgements": judge, "both": both}.items():
            before = _processor(pid)
            clock = await flood(connections, requests, total)
            a_core[name] = round(total / (_processor(pid) - before), 1)
        latencies = [await _latency(connections, both, pid) for _ in range(runs)]
        small = _peak(pid)
        await _large(connections, port)
        large = _peak(pid)
    latencies.sort(key=lambda one: one.p99_ms)
    return Figures(
        python=platform.python_version(),
        bytes_a_review=len(both[0]),
        mutations_a_core=a_core["mutations"],
        judgements_a_core=a_core["judgements"],
        a_core=a_core["both"],
        a_second=round(total / clock, 1),
        latency=latencies[(runs - 1) // 2],
        best=latencies[0],
        worst=latencies[-1],
        peak_mib=small,
        peak_large_mib=large,
    )


async def _latency(
    connections: Sequence[Connection], requests: Sequence[bytes], pid: int
) -> Latency:
    own, all_ = _processor(pid) + _processor(os.getpid()), _busy()
    took = await pace(connections, requests, RATE, SECONDS)
    own = _processor(pid) + _processor(os.getpid()) - own
    others = (_busy() - all_ - own) / SECONDS / (os.cpu_count() or 1)
    cuts = statistics.quantiles(took, n=100)
    p50, p99, worst = (round(value * 1000, 2) for value in (cuts[49], cuts[98], max(took)))
    return Latency(p50, p99, worst, round(max(others, 0.0), 2))


async def _large(connections: Sequence[Connection], port: int) -> None:
    """Large reviews on all connections at once, and then one that is too large on each of them."""
    for mebibytes in SIZES:
        await flood(connections, [_large_request(mebibytes)], 2 * len(connections))
    await asyncio.gather(*(_refused(port) for _ in connections))


async def _refused(port: int) -> None:
    async with Connection(port, trust("old")) as connection:
        with contextlib.suppress(ValueError, ConnectionError, asyncio.IncompleteReadError):
            await connection.ask(_large_request(40))


def _large_request(mebibytes: float) -> bytes:
    new = job()
    new["spec"]["template"]["spec"]["containers"][0]["args"] = ["HERE"]
    body = encoded(review(new)).replace(b"HERE", b"<" * int(mebibytes * 1024 * 1024))
    return _posted("/mutate-jobs", body)


def _request(path: str, number: int) -> bytes:
    """A review of about 4 KB, as one HTTP request."""
    new = job(completions=2)
    new["metadata"] |= {"name": f"train-{number}", "namespace": f"team-{number}"}
    new["metadata"]["labels"] |= {
        "kwicket.dev/pool": f"pool-{number % 20}",
        "kwicket.dev/lane": f"lane-{number % 100}",
        "trait.kwicket.dev/urgent": "0.5",
    }
    manifest = json.dumps(new)
    new["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": manifest}
    pods = new["spec"]["template"]["spec"]
    env = [{"name": f"SETTING_{n}", "value": f"/data/{n}"} for n in range(20)]
    command = ["sh", "-c", "x" * 500]
    pods["containers"][0] |= {"env": env, "command": command}
    pods["initContainers"] = [pods["containers"][0] | {"name": "first"}]
    return _posted(path, encoded(review(new)))


def _posted(path: str, body: bytes) -> bytes:
    head = f"POST {path}?timeout=3s HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@asynccontextmanager
async def _webhook(api: ApiServer) -> AsyncIterator[tuple[int, int]]:
    """The command as a process that has everything in its caches; its pid and port."""
    _fill(api)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        put(folder, "old")
        (folder / "kubeconfig").write_text(_kubeconfig(api.url))
        files = "--certificate", str(folder / "tls.crt"), "--key", str(folder / "tls.key")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "kwicket", "webhook", "--listen", "127.0.0.1:0"),
            *("--kubeconfig", str(folder / "kubeconfig"), *files),
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            assert process.stdout is not None
            port = int(json.loads(await process.stdout.readline())["port"])
            await api.until(lambda: api.watches == 4)
            yield process.pid, port
        finally:
            process.terminate()
            await process.wait()


def _fill(api: ApiServer) -> None:
    for number in range(1_000):
        api.put(NAMESPACES, {"metadata": {"name": f"team-{number}"}})
    for number in range(20):
        status = {"waiting": 1_000, "running": 10}
        api.put(POOLS, {"metadata": {"name": f"pool-{number}"}, "spec": {}, "status": status})
    for number in range(100):
        pool = f"pool-{number % 20}"
        api.put(LANES, {"metadata": {"name": f"lane-{number}"}, "spec": {"pool": pool}})
        spec = {"lane": f"lane-{number}", "concurrency": {"pods": 8}}
        api.put(LIMITS, {"metadata": {"name": f"limit-{number}"}, "spec": spec})


def _kubeconfig(url: str) -> str:
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "here", "cluster": {"server": url}}],
        "users": [{"name": "here", "user": {"token": "x"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here"}}],
    }
    return yaml.safe_dump(document)


def _processor(pid: int) -> float:
    """The seconds of processor time that the process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak(pid: int) -> float:
    """The most memory, in MiB, that the process ever had resident."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [peak] = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return round(int(peak) / 1024, 1)


def _busy() -> float:
    """The seconds of processor time that anything has used on this machine."""
    user, nice, system, *_ = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
