"""`kwicket check --postgres`: what it says of a database, on a real PostgreSQL."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from kwicket.cli import main
from kwicket_storage.schema import migrate
from support.api_server import ApiServer
from support.databases import Database
from support.tls import ADDRESS, Secured

type Check = Callable[..., Awaitable[str]]

ANSWERS = "the shared ledger answers, and its schema is one that this Kwicket works with"
MAY = "the user of its URL may do what an operator does"
HEARD = "what other clusters write there is heard at once"
WELL = f"{ANSWERS}: ok\n{MAY}: ok\n{HEARD}: ok\n"


@pytest.fixture
def check(api: ApiServer, kubeconfig: Path, tmp_path: Path) -> Check:
    """What the command says of the database at a URL, and of a direct one if there is one."""
    kubeconfig.write_text(kubeconfig.read_text().replace("http://127.0.0.1:1", api.url))

    async def check(url: str, listen: str | None = None) -> str:
        folder = tmp_path / "urls"
        folder.mkdir()
        (folder / "url").write_text(f"{url}\n")
        if listen is not None:
            (folder / "listen-url").write_text(f"{listen}\n")
        words = ("check", "--kubeconfig", str(kubeconfig), "--postgres", str(folder / "url"))
        said = (await asyncio.to_thread(CliRunner().invoke, main, words)).stdout
        return said[said.index(ANSWERS) :]

    return check


async def test_a_database_that_an_operator_can_work_with_is_all_right(
    check: Check, operator_url: str
) -> None:
    assert await check(operator_url) == WELL


async def test_one_that_proves_who_it_is_by_the_right_authority_is_all_right(
    check: Check, tls: Secured
) -> None:
    assert await check(tls.url()) == WELL


@pytest.mark.parametrize("wrong", ["authority", "name"])
async def test_one_that_proves_who_it_is_by_another_is_not(
    check: Check, tls: Secured, wrong: str
) -> None:
    """And nothing more is asked of it."""
    url = tls.url(host=ADDRESS) if wrong == "name" else tls.url(trusts=tls.another)
    said = await check(url)
    assert said.startswith(f"{ANSWERS}: FAILED: PostgreSQL: ")
    assert "sslrootcert must name the authority that signed the server's certificate" in said
    assert "its host the one that the certificate is for" in said
    assert MAY not in said


async def test_one_without_a_schema_is_told_the_command(check: Check, postgres: str) -> None:
    empty = await Database.made(postgres)
    said = await check(empty.url)
    assert said == f"{ANSWERS}: FAILED: there is no schema: run kwicket ledger migrate first\n"


async def test_a_url_that_only_the_driver_refuses_is_not_repeated(check: Check) -> None:
    said = await check("postgresql://east@/postgres?host=/nowhere&port=hidden")
    assert "the URL can't be understood" in said
    assert "hidden" not in said


async def test_a_right_that_is_missing_is_named(check: Check, postgres: str) -> None:
    made = await Database.made(postgres)
    await migrate(made.url)
    url = await made.member("kwicket_operator")
    await made.told("REVOKE UPDATE ON kwicket.grants FROM kwicket_operator")
    await made.told("REVOKE EXECUTE ON FUNCTION kwicket.timeline FROM kwicket_operator")
    lacks = "EXECUTE ON FUNCTION kwicket.timeline(), UPDATE ON kwicket.grants"
    said = await check(url)
    assert f"{MAY}: FAILED: it lacks {lacks}: GRANT kwicket_operator TO that user\n" in said


async def test_a_pooler_that_keeps_no_listen_is_warned_of(
    check: Check, pooled_url: str, deaf_soon: None
) -> None:
    said = await check(pooled_url)
    assert f"{MAY}: ok\n{HEARD}: WARNING: it is heard within 5 s: the URL leads to a pooler" in said
    assert "listen-url" in said


async def test_a_pooler_and_a_direct_connection_beside_it_are_all_right(
    check: Check, pooled_url: str, operator_url: str
) -> None:
    assert await check(pooled_url, operator_url) == WELL


async def test_a_listen_url_that_leads_elsewhere_is_wrong(
    check: Check, operator_url: str, postgres: str, deaf_soon: None
) -> None:
    """To another database of the same server, as by a mistyped name."""
    other = await Database.made(postgres)
    said = await check(operator_url, other.url)
    assert f"{HEARD}: FAILED: listen-url does not hear what is written by the other URL" in said


@pytest.mark.parametrize(
    ("listen", "words"),
    [
        ("postgresql://east:hidden@127.0.0.1:1/kwicket", "check host and port of the URL"),
        ("mysql://east:hidden@db/kwicket", "the URL can't be understood"),
        ("", "this file is empty"),
    ],
)
async def test_a_listen_url_that_leads_nowhere_is_wrong(
    check: Check, operator_url: str, listen: str, words: str
) -> None:
    said = await check(operator_url, listen)
    assert f"{HEARD}: FAILED: " in said
    assert "listen-url: " in said
    assert words in said
    assert "hidden" not in said


@pytest.fixture
def deaf_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not heard within half a second is not heard at all."""
    monkeypatch.setattr("kwicket_storage.inspection.DEADLINE", 0.5)
