"""Pages of a list, as the API server writes them. Pure."""

import msgspec
import structlog
from msgspec import Struct

from kwicket.kube import wire
from kwicket.kube.client import TooLargeError

_log = structlog.get_logger(__name__)


class Page(Struct):
    """Some of the objects of a list, each still as it was written."""

    metadata: wire.ListMetadata
    items: list[msgspec.Raw] | None


def decoded(body: bytes, *, alone: bool) -> Page:
    """The page of an answer; its one object, if it is `alone`, is left out if nested too deeply.

    Raises TooLargeError if one of several is, msgspec.DecodeError for what is no page.
    """
    try:
        return msgspec.json.decode(body, type=Page)
    except RecursionError as error:
        if not alone:
            raise TooLargeError("an object of the page is nested too deeply") from error
    _log.warning("object not understood", error="it is nested too deeply")
    head, _, _ = body.partition(b'"items":')  # the API server writes them last
    return msgspec.json.decode(head + b'"items":null}', type=Page)
