"""The database that clusters share, as `kwicket check` looks at it."""

from collections.abc import AsyncIterator
from pathlib import Path

from kwicket.kube.checks import Finding
from kwicket.ports.errors import UnavailableError
from kwicket_storage.advice import UrlError, unavailable
from kwicket_storage.inspection import heard, lacking
from kwicket_storage.migrations import SchemaError
from kwicket_storage.schema import look
from kwicket_storage.servers import UNREACHED

LATER = (
    "it is heard within 5 s: the URL leads to a pooler that keeps no LISTEN; write the URL of a"
    " direct connection into a file listen-url beside it"
)
DEAF = (
    "listen-url does not hear what is written by the other URL: it must lead to the same database,"
    " and not to a pooler that keeps no LISTEN"
)


def beside(file: Path) -> Path | None:
    """The file with the URL of a direct connection, if there is one."""
    found = file.with_name("listen-url")
    return found if found.exists() else None


async def findings(url: Path) -> AsyncIterator[Finding]:
    """One finding a check of the database whose URL a file has; the first alone if it fails."""
    schema = await _answers(url)
    yield schema
    if schema.wrong is None:
        yield await _allowed(url)
        yield await _hears(url, beside(url))


async def _answers(url: Path) -> Finding:
    what = "the shared ledger answers, and its schema is one that this Kwicket works with"
    try:
        await look(url)
    except SchemaError as error:
        return Finding(what, str(error))
    except (UrlError, *UNREACHED) as error:
        return Finding(what, _said(error))
    return Finding(what)


async def _allowed(url: Path) -> Finding:
    what = "the user of its URL may do what an operator does"
    try:
        lacks = await lacking(url)
    except (UrlError, *UNREACHED) as error:
        return Finding(what, _said(error))
    if not lacks:
        return Finding(what)
    return Finding(what, f"it lacks {', '.join(lacks)}: GRANT kwicket_operator TO that user")


async def _hears(url: Path, listen: Path | None) -> Finding:
    what = "what other clusters write there is heard at once"
    try:
        hears = await heard(url, listen or url)
    except (UrlError, UnavailableError, *UNREACHED) as error:
        named = "" if listen is None or isinstance(error, UrlError) else "listen-url: "
        return Finding(what, f"{named}{_said(error)}")
    if hears:
        return Finding(what)
    return Finding(what, warning=LATER) if listen is None else Finding(what, DEAF)


def _said(error: Exception) -> str:
    """What is said of it to whoever runs a command."""
    return str(unavailable(error) if isinstance(error, UNREACHED) else error)
