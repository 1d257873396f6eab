"""`kwicket webhook`: what it says, how it ends, and that it works from end to end."""

import asyncio
import json
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner, Result

from kwicket.cli import main
from support.api_server import POOLS, ApiServer
from support.reviews import HEADERS, encoded, job, put, response, review, session


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, ...]:
    """The options that name the certificate."""
    put(tmp_path, "old")
    return "--certificate", str(tmp_path / "tls.crt"), "--key", str(tmp_path / "tls.key")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ("webhook", *arguments))


def test_the_help_says_what_it_answers_and_what_may_be_set() -> None:
    result = run("--help")
    assert result.exit_code == 0
    text = " ".join(result.output.split())
    for path in ("/mutate-jobs", "/validate-jobs", "/validate-objects"):
        assert path in text
    for option in ("--certificate FILE", "--key FILE", "--listen HOST:PORT", "--probes HOST:PORT"):
        assert option in text
    assert "--metrics HOST:PORT" in text
    assert "Ended by SIGTERM or SIGINT, it finishes the reviews under way." in text


def test_a_certificate_must_be_given(kubeconfig: Path) -> None:
    result = run("--kubeconfig", str(kubeconfig))
    assert result.exit_code == 2
    assert "Missing option '--certificate'" in result.stderr


@pytest.mark.parametrize("option", ["--listen", "--probes", "--metrics"])
def test_an_address_that_is_none_is_refused(
    kubeconfig: Path, files: tuple[str, ...], option: str
) -> None:
    result = run("--kubeconfig", str(kubeconfig), *files, option, "8443")
    assert result.exit_code == 2
    name = option.removeprefix("--")
    assert result.stderr == (
        f"kwicket webhook: {name}: '8443' is not HOST:PORT, such as 0.0.0.0:8080\n"
    )


def test_a_certificate_that_is_none_is_named(
    kubeconfig: Path, files: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "tls.crt").write_text("rubbish")
    result = run("--kubeconfig", str(kubeconfig), *files)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"kwicket webhook: no certificate by {tmp_path / 'tls.crt'}")
    assert "Traceback" not in result.output


@pytest.mark.parametrize("option", ["--listen", "--probes", "--metrics"])
def test_an_address_that_is_taken_is_said_to_be(
    kubeconfig: Path, files: tuple[str, ...], option: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        listen = () if option == "--listen" else ("--listen", "127.0.0.1:0")
        result = run("--kubeconfig", str(kubeconfig), *files, *listen, option, address)
    assert result.exit_code == 2
    assert "address already in use" in result.stderr
    assert result.stderr.count("\n") == 1


@asynccontextmanager
async def answering(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """The webhook as a process of its own, which the test ends, and its port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "kwicket", "webhook", "--listen", "127.0.0.1:0", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process, await _port(process)
    finally:
        if process.returncode is None:
            process.kill()
            print(*await process.communicate())


async def _port(process: asyncio.subprocess.Process) -> int:
    """What it logs once it listens."""
    assert process.stdout is not None
    async with asyncio.timeout(20):
        async for line in process.stdout:
            said = json.loads(line)
            if said["message"] == "answers reviews":
                port: int = said["port"]
                return port
    raise AssertionError("it ended before it listened")


async def answered(port: int, path: str, body: Any) -> dict[str, Any]:
    async with (
        session(port, "old") as client,
        client.post(path, data=encoded(body), headers=HEADERS) as answer,
    ):
        assert answer.status == 200
        return response(await answer.read())


async def scraped(url: str) -> str:
    async with aiohttp.ClientSession() as client, client.get(url) as answer:
        assert answer.status == 200
        return await answer.text()


def point(kubeconfig: Path, url: str) -> None:
    """Makes it of the cluster at this address."""
    kubeconfig.write_text(kubeconfig.read_text().replace("http://127.0.0.1:1", url))


async def test_it_answers_reviews_by_what_the_api_server_says_and_ends_when_told(
    api: ApiServer, kubeconfig: Path, files: tuple[str, ...]
) -> None:
    api.put(POOLS, {"metadata": {"name": "gpu"}})
    point(kubeconfig, api.url)
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
    options = ("--kubeconfig", str(kubeconfig), *files, "--metrics", place)
    async with answering(*options) as (process, port):
        await api.until(lambda: api.watches == 4)
        lost = job()
        lost["metadata"]["labels"]["kwicket.dev/pool"] = "tpu"
        said = await answered(port, "/validate-jobs", review(lost))
        assert "there is no Pool tpu; there are: gpu" in said["status"]["message"]
        shown = await scraped(f"http://{place}/metrics")
        assert 'reviews_total{outcome="refused",path="/validate-jobs"} 1.0' in shown
        assert 'kwicket_reflector_failures_total{resource="pools"} 0.0' in shown
        assert "\nkwicket_webhook_certificate_expiry_timestamp_seconds " in shown
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert "stopping" in {json.loads(line)["message"] for line in out.splitlines()}
    assert {request.method for request in api.requests} == {"GET"}


async def test_without_an_api_server_jobs_are_still_suspended(
    kubeconfig: Path, files: tuple[str, ...]
) -> None:
    async with answering("--kubeconfig", str(kubeconfig), *files) as (_, port):
        said = await answered(port, "/mutate-jobs", review(job()))
        assert {"op": "add", "path": "/spec/suspend", "value": True} in said["patch"]
        assert (await answered(port, "/validate-jobs", review(job())))["allowed"] is True
