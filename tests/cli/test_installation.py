"""`kwicket certificates` and `kwicket check`: what they say, and their exit codes."""

import asyncio
import logging
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kwicket.cli import main
from support.api_parts import status_of
from support.api_server import POOLS, ApiServer

SECRETS = "/api/v1/secrets"
PLACE = ("--namespace=system", "--service=webhook", "--secret=certificate", "--configuration=k")
TRIED = "/apis/batch/v1/namespaces/default/jobs"


async def run(api: ApiServer, kubeconfig: Path, *words: str) -> Result:
    """The command in a thread of its own, since it has a loop of its own."""
    arguments = (*words, "--kubeconfig", str(kubeconfig))
    point(kubeconfig, api.url)
    return await asyncio.to_thread(CliRunner().invoke, main, arguments)


def point(kubeconfig: Path, url: str) -> None:
    """Makes it of the cluster at this address."""
    kubeconfig.write_text(kubeconfig.read_text().replace("http://127.0.0.1:1", url))


def logged(capfd: pytest.CaptureFixture[str]) -> str:
    """What was logged since the last time, all of it."""
    for handler in logging.getLogger().handlers:
        handler.flush()
    return capfd.readouterr().out


async def test_a_certificate_is_made_once_and_the_command_says_why(
    api: ApiServer, kubeconfig: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    api.objects[SECRETS] = {}
    api.put(SECRETS, {"metadata": {"name": "certificate", "namespace": "system"}})
    first = await run(api, kubeconfig, "certificates", *PLACE)
    assert (first.exit_code, first.stderr) == (0, "")
    said = logged(capfd)
    assert "there is none yet" in said
    assert "PRIVATE" not in said + first.output
    assert "tls.key" in api.objects[SECRETS]["system", "certificate"]["data"]
    second = await run(api, kubeconfig, "certificates", *PLACE)
    assert second.exit_code == 0
    assert "the certificate is good" in logged(capfd)


async def test_without_the_secret_the_command_says_what_is_missing(
    api: ApiServer, kubeconfig: Path
) -> None:
    result = await run(api, kubeconfig, "certificates", *PLACE)
    assert result.exit_code == 1
    sentence = "there is no Secret system/certificate: the chart installs it, empty"
    assert result.stderr == f"kwicket certificates: {sentence}\n"


async def test_the_check_says_a_line_a_part_and_fails_if_one_does(
    api: ApiServer, kubeconfig: Path
) -> None:
    for _ in range(2):
        api.fail(TRIED, 422, method="POST", body=status_of(422, "kwicket-guard says no"))
    result = await run(api, kubeconfig, "check", "--no-webhook")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == "Pools are served: ok"
    assert lines[1].endswith(": FAILED: it was refused: kwicket-guard says no")
    assert lines[2].endswith("is refused by the policy kwicket-guard: ok")


@pytest.mark.parametrize("words", [("certificates", *PLACE), ("check",)])
async def test_an_api_server_that_is_down_is_exit_code_1(
    api: ApiServer, kubeconfig: Path, words: tuple[str, ...]
) -> None:
    for path in ("/api/v1/namespaces/system/secrets/certificate", POOLS):
        api.fail(path, 503)
    result = await run(api, kubeconfig, *words)
    assert result.exit_code == 1
    assert "HTTP 503" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("words", [("certificates", *PLACE), ("check",)])
def test_without_credentials_it_is_exit_code_2(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert "outside of a cluster, pass --kubeconfig FILE" in result.stderr
