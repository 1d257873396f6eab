"""What each command says of a file without a URL in it: the same, and nothing of what is in it."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kwicket.cli import main
from kwicket_storage.advice import UrlError
from support.api_server import ApiServer

MAKES = {
    "check": ("check",),
    "migrate": ("ledger", "migrate"),
    "forget": ("ledger", "forget", "--pool=gpus", "--cluster=east"),
    "copy": ("ledger", "copy", "--from=kubernetes", "--to=postgres", "--cluster=east"),
}
CLUSTERS = {"check", "copy"}
WRONG = {
    "empty": (b"\n", "this file is empty: write the URL into it"),
    "no text": (b"\xff hidden", "a URL is text, and what is in this file is none"),
    "no URL": (b"mysql://east:hidden@db/kwicket", str(UrlError())),
}


@pytest.fixture
def known(api: ApiServer, kubeconfig: Path) -> Path:
    """The kubeconfig of an API server."""
    kubeconfig.write_text(kubeconfig.read_text().replace("http://127.0.0.1:1", api.url))
    return kubeconfig


async def run(command: str, file: Path, kubeconfig: Path) -> Result:
    """In a thread of its own, since it has a loop of its own."""
    words = [*MAKES[command], "--postgres", str(file)]
    words += ["--kubeconfig", str(kubeconfig)] * (command in CLUSTERS)
    return await asyncio.to_thread(CliRunner().invoke, main, words)


@pytest.mark.parametrize("command", MAKES)
@pytest.mark.parametrize("what", WRONG)
async def test_a_file_without_a_url_is_named_and_not_repeated(
    known: Path, tmp_path: Path, command: str, what: str
) -> None:
    content, words = WRONG[what]
    file = tmp_path / "url"
    file.write_bytes(content)
    said = await run(command, file, known)
    assert said.exit_code == 1
    assert f": {file}: {words}\n" in said.output
    assert "hidden" not in said.output
    assert isinstance(said.exception, SystemExit)


@pytest.mark.parametrize("what", WRONG)
def test_an_operator_does_not_begin_by_it(kubeconfig: Path, tmp_path: Path, what: str) -> None:
    content, words = WRONG[what]
    file = tmp_path / "url"
    file.write_bytes(content)
    operator = ("operator", "--cluster=east", "--kubeconfig", str(kubeconfig))
    said = CliRunner().invoke(main, [*operator, "--postgres", str(file)])
    assert said.exit_code == 2
    assert said.stderr == f"kwicket operator: {file}: {words}\n"


@pytest.mark.parametrize("command", MAKES)
async def test_a_file_that_can_not_be_read_is_not_said_to_be_postgresqls_fault(
    known: Path, command: str
) -> None:
    said = await run(command, Path("/proc/self/mem"), known)
    assert said.exit_code == 1
    assert ": /proc/self/mem: this file can't be read: Input/output error\n" in said.output
    assert "PostgreSQL" not in said.output
