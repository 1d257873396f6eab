"""`kwicket operator`: what it says, how it ends, and that it works from end to end."""

import asyncio
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kwicket import __version__
from kwicket.cli import main
from support import policies
from support.api_server import JOBS, LEDGERS, NAMESPACES, POOLS, ApiServer
from support.reflection import job


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_the_help_names_what_there_is() -> None:
    for flag in ("-h", "--help"):
        result = run(flag)
        assert result.exit_code == 0
        assert "which waiting Job may start now?" in result.output
        assert "operator" in result.output


def test_the_help_of_the_operator_says_how_it_ends_and_what_may_be_set() -> None:
    result = run("operator", "--help")
    assert result.exit_code == 0
    text = " ".join(result.output.split())
    assert "Start waiting Jobs, fairly and within limits, until ended by SIGTERM or SIGINT." in text
    assert "Exits with 0 when ended so, with 2 when it can't begin" in text
    for option in (
        "--kubeconfig FILE",
        "--context",
        "--namespace",
        "--no-leader-election",
        "--probes HOST:PORT",
        "--log-level",
    ):
        assert option in text
    assert "Without it: the service account of the pod." in text
    assert "[default: info]" in text


def test_the_version_is_the_packages() -> None:
    assert run("--version").output == f"kwicket, version {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--kubeconfig", "/no/such/file"),
        ("--kubeconfig", "/"),
        ("--log-level", "loud"),
        ("--probes",),
        ("--unknown",),
        ("argument",),
    ],
)
def test_a_wrong_option_is_refused(arguments: tuple[str, ...]) -> None:
    result = run("operator", *arguments)
    assert result.exit_code == 2
    assert "Error: " in result.stderr


def test_a_kubeconfig_that_cannot_be_used_is_named_in_one_sentence(tmp_path: Path) -> None:
    for number, text in enumerate(("", "{unclosed", "just text", "apiVersion: v1")):
        file = tmp_path / f"kubeconfig-{number}"
        file.write_text(text)
        result = run("operator", "--kubeconfig", str(file))
        assert result.exit_code == 2
        assert result.stderr.startswith(f"kwicket operator: no access by kubeconfig {file}: ")
        assert "Traceback" not in result.output


def test_a_context_that_is_not_there_is_named(kubeconfig: Path) -> None:
    result = run("operator", "--kubeconfig", str(kubeconfig), "--context", "nowhere")
    assert result.exit_code == 2
    assert "nowhere" in result.stderr


def test_outside_of_a_cluster_it_says_what_to_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    result = run("operator")
    assert result.exit_code == 2
    assert "outside of a cluster, pass --kubeconfig FILE" in result.stderr


@pytest.mark.parametrize("option", ["--cluster=east", "--cluster-lapse=900", "--history-days=7"])
def test_what_concerns_a_shared_ledger_needs_one(kubeconfig: Path, option: str) -> None:
    result = run("operator", "--kubeconfig", str(kubeconfig), option)
    assert result.exit_code == 2
    assert "--cluster, --cluster-lapse and --history-days go with --postgres" in result.stderr


def test_a_history_of_no_days_is_refused(kubeconfig: Path, tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text("postgresql://db/kwicket")
    shared = ("--postgres", str(file), "--cluster=east", "--history-days=0")
    result = run("operator", "--kubeconfig", str(kubeconfig), *shared)
    assert result.exit_code == 2
    assert result.stderr == "kwicket operator: history days: 0.0 is not from 1 to 36500\n"


@pytest.mark.parametrize("option", ["probes", "metrics"])
def test_an_address_that_is_none_is_refused(kubeconfig: Path, option: str) -> None:
    result = run("operator", "--kubeconfig", str(kubeconfig), f"--{option}", "8080")
    assert result.exit_code == 2
    sentence = f"kwicket operator: {option}: '8080' is not HOST:PORT, such as 0.0.0.0:8080\n"
    assert result.stderr == sentence


@pytest.mark.parametrize("option", ["probes", "metrics"])
def test_an_address_that_is_taken_is_said_to_be(kubeconfig: Path, option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        result = run("operator", "--kubeconfig", str(kubeconfig), f"--{option}", address)
    assert result.exit_code == 2
    assert "address already in use" in result.stderr
    assert result.stderr.count("\n") == 1


def point(kubeconfig: Path, url: str) -> None:
    """Makes it of the cluster at this address."""
    kubeconfig.write_text(kubeconfig.read_text().replace("http://127.0.0.1:1", url))


@asynccontextmanager
async def operating(api: ApiServer, kubeconfig: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """The operator as a process of its own, which the test ends."""
    point(kubeconfig, api.url)
    arguments = ("-m", "kwicket", "operator", "--kubeconfig", str(kubeconfig))
    process = await asyncio.create_subprocess_exec(
        sys.executable, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            print(*await process.communicate())


async def ended(process: asyncio.subprocess.Process) -> tuple[int, list[dict[str, Any]], str]:
    """Its exit code, its log lines, and what else it said."""
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(10):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, [json.loads(line) for line in out.splitlines()], err.decode()


async def test_it_starts_a_job_says_so_in_json_lines_and_ends_when_told(
    api: ApiServer, kubeconfig: Path
) -> None:
    api.put(NAMESPACES, {"metadata": {"name": "team"}})
    policies.install(api)
    api.put(POOLS, {"metadata": {"name": "gpu"}, "spec": {"default": True}})
    api.put(JOBS, job("x-1"))
    async with operating(api, kubeconfig) as process:
        await api.until(lambda: not api.objects[JOBS]["team", "x-1"]["spec"]["suspend"])
        await api.until(lambda: api.watches >= 7)
        api.put(JOBS, job("x-2"))
        await api.until(lambda: not api.objects[JOBS]["team", "x-2"]["spec"]["suspend"])
        code, lines, errors = await ended(process)
    assert (code, errors) == (0, "")
    for line in lines:
        assert {"time", "level", "logger", "message"} <= line.keys()
    assert {"synced", "stopping"} <= {line["message"] for line in lines}
    annotations = [body["metadata"]["annotations"] for body in api.objects[JOBS].values()]
    tokens = [int(one["kwicket.dev/token"]) for one in annotations]
    assert tokens[1] > tokens[0] > 0
    [ledger] = api.objects[LEDGERS].values()
    assert int(ledger["spec"]["version"]) >= tokens[1]


async def test_without_the_crds_it_waits_and_says_which_to_install(
    api: ApiServer, kubeconfig: Path
) -> None:
    del api.objects[POOLS]
    async with operating(api, kubeconfig) as process:
        await api.until(lambda: len(api.asked("GET", POOLS)) == 2)
        code, lines, errors = await ended(process)
    assert (code, errors) == (0, "")
    said = [line for line in lines if line["level"] == "warning"]
    assert said[0]["message"] == "waiting for the API server"
    assert "pools.kwicket.dev: install the CRDs" in said[0]["error"]
