"""Tell the node agent of a plane what is to befall a node."""

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
