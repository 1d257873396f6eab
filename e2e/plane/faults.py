"""Tell the parts of a plane what is to befall them: the node agent of a node, etcd of its past."""

import json
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from e2e.plane.errors import PlaneError

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


def _ask(port: int, what: str, body: dict[str, Any]) -> dict[str, Any]:
    request = Request(f"http://127.0.0.1:{port}/v3/kv/{what}", json.dumps(body).encode())
    with urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback
        return dict(json.load(answer))
