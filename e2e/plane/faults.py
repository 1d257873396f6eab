"""Tell the parts of a plane what is to befall them: the node agent of a node, etcd of its past or
of much at once.
"""

import base64
import json
from collections.abc import Mapping
from itertools import batched
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from e2e.plane.errors import PlaneError

MOST_AT_ONCE = 100
"""Values in a transaction; etcd takes 128."""
FAULTS = ("die", "silence", "return")


def inflict(port: int, node: str, fault: str) -> None:
    """Have `fault`, one of FAULTS, happen to `node`; returns when it has.

    Raises PlaneError where there is no such node or no agent.
    """
    request = Request(f"http://127.0.0.1:{port}/nodes/{node}/{fault}", method="POST")
    try:
        urlopen(request, timeout=30).close()  # noqa: S310 - loopback
    except HTTPError as error:
        sentence = error.read().decode()
        error.close()
        raise PlaneError(sentence) from error
    except URLError as error:
        raise PlaneError(f"The node agent does not answer: {error.reason}.") from error


def compact(port: int) -> None:
    """Have the etcd at this port forget all versions but the last; returns when it has."""
    header = _ask(port, "range", {"key": "AA=="})["header"]
    _ask(port, "compaction", {"revision": header["revision"], "physical": True})


def put(port: int, values: Mapping[str, bytes]) -> None:
    """Have the etcd at this port hold these values, as if an API server had written them."""
    for some in batched(values.items(), MOST_AT_ONCE):
        puts = [{"request_put": {"key": _text(k.encode()), "value": _text(v)}} for k, v in some]
        _ask(port, "txn", {"success": puts})


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _ask(port: int, what: str, body: dict[str, Any]) -> dict[str, Any]:
    request = Request(f"http://127.0.0.1:{port}/v3/kv/{what}", json.dumps(body).encode())
    with urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
        return dict(json.load(answer))
