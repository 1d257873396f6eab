"""The database that clusters share, as `kwicket check` looks at it."""

from collections.abc import AsyncIterator
from pathlib import Path

from kwicket.kube.checks import Finding
from kwicket.ports.errors import UnavailableError
from kwicket_storage.advice import UrlError, unavailable
from kwicket_storage.connections import UNREACHED
from kwicket_storage.inspection import heard, lacking
from kwicket_storage.migrations import SchemaError
from kwicket_storage.schema import look

LATER = (
    "it is heard within 5 s: the URL leads to a pooler that keeps no LISTEN; write the URL of a"
    " direct connection into a file listen-url beside it"
)
DEAF = (
    "listen-url does not hear what is written by the other URL: it must lead to the same database,"
    " and not to a pooler that keeps no LISTEN"
)


def urls(file: Path) -> tuple[str, str | None]:
    """The URL in a file, and that of a direct connection in the file `listen-url` beside it."""
    beside = file.with_name("listen-url")
    return file.read_text().strip(), beside.read_text().strip() if beside.exists() else None


async def findings(url: str, listen: str | None) -> AsyncIterator[Finding]:
    """One finding a check; the first alone if it fails."""
    schema = await _answers(url)
    yield schema
    if schema.wrong is None:
        yield await _allowed(url)
        yield await _hears(url, listen)


async def _answers(url: str) -> Finding:
    what = "the shared ledger answers, and its schema is one that this Kwicket works with"
    try:
        await look(url)
    except (SchemaError, UrlError) as error:
        return Finding(what, str(error))
    except UNREACHED as error:
        return Finding(what, str(unavailable(error)))
    return Finding(what)


async def _allowed(url: str) -> Finding:
    what = "the user of its URL may do what an operator does"
    try:
        lacks = await lacking(url)
    except UNREACHED as error:
        return Finding(what, str(unavailable(error)))
    if not lacks:
        return Finding(what)
    return Finding(what, f"it lacks {', '.join(lacks)}: GRANT kwicket_operator TO that user")


async def _hears(url: str, listen: str | None) -> Finding:
    what = "what other clusters write there is heard at once"
    named = "" if listen is None else "listen-url: "
    try:
        hears = await heard(url, listen or url)
    except (UrlError, UnavailableError) as error:
        return Finding(what, f"{named}{error}")
    except UNREACHED as error:
        return Finding(what, f"{named}{unavailable(error)}")
    if hears:
        return Finding(what)
    return Finding(what, warning=LATER) if listen is None else Finding(what, DEAF)
