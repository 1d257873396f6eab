"""The URL in a file: what is said of one that can't be used, and what is gone by meanwhile."""

from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from kwicket_storage.advice import UrlError
from kwicket_storage.servers import Servers, connect

EAST, WEST = "postgresql://east:hidden@a/kwicket", "postgresql://west:hidden@b/kwicket"
DRIVER_REFUSES = "postgresql://east@/kwicket?host=/nowhere&port=hidden"
type Write = Callable[[Path], object]
UNUSABLE: dict[str, tuple[Write, str]] = {
    "gone": (lambda file: file.unlink(), "this file can't be read: No such file or directory"),
    "empty": (lambda file: file.write_text("\n"), "this file is empty: write the URL into it"),
    "no text": (lambda file: file.write_bytes(b"\xffhidden"), "a URL is text"),
    "no URL": (lambda file: file.write_text("mysql://hidden@a"), "can't be understood"),
    "no URL to the driver": (lambda file: file.write_text(DRIVER_REFUSES), "can't be understood"),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Has a URL."""
    made = tmp_path / "url"
    made.write_text(f"{EAST}\n")
    return made


def put(file: Path, text: str) -> None:
    file.write_text(text)


async def asked(server: str) -> str:
    """The server instead of a connection to it, as long as the driver does not refuse it."""
    if server == DRIVER_REFUSES:
        await connect(server)
    return server


@pytest.mark.parametrize("what", UNUSABLE)
async def test_a_file_that_can_not_be_used_at_first_is_named_without_what_is_in_it(
    file: Path, what: str
) -> None:
    write, words = UNUSABLE[what]
    write(file)
    with pytest.raises(UrlError, match=words) as caught:
        await Servers(file).reached(asked)
    assert str(caught.value).startswith(f"{file}: ")
    assert "hidden" not in f"{caught.value}{caught.value.__cause__}"


async def test_what_was_written_into_the_file_is_gone_by_at_the_next_connection(file: Path) -> None:
    servers = Servers(file)
    assert await servers.reached(asked) == EAST
    assert servers.names(EAST)
    put(file, WEST)
    assert await servers.reached(asked) == WEST
    assert not servers.names(EAST)


@pytest.mark.parametrize("what", UNUSABLE)
async def test_what_can_not_be_used_is_said_once_and_the_url_of_before_stays_in_use(
    file: Path, what: str
) -> None:
    write, words = UNUSABLE[what]
    servers = Servers(file)
    write(file)
    with capture_logs() as logs:
        assert [await servers.reached(asked) for _ in range(3)] == [EAST] * 3
    [said] = logs
    assert said["error"].startswith(f"{file}: ")
    assert words in said["error"]
    assert "hidden" not in str(said)


@pytest.mark.parametrize("what", UNUSABLE)
async def test_what_can_not_be_used_again_is_said_again(file: Path, what: str) -> None:
    write, _ = UNUSABLE[what]
    servers = Servers(file)
    with capture_logs() as logs:
        for right in (EAST, WEST):
            write(file)
            await servers.reached(asked)
            put(file, right)
            assert [await servers.reached(asked) for _ in range(2)] == [right] * 2
    assert len(logs) == 2


async def test_a_server_that_is_not_reached_is_no_reason_to_go_by_the_url_of_before(
    file: Path,
) -> None:
    servers = Servers(file)
    put(file, WEST)

    async def away(server: str) -> str:
        raise OSError(server)

    with pytest.raises(OSError, match="west"):
        await servers.reached(away)
