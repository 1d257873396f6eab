"""A ledger in the cluster: one Ledger object a pool, guarded by its resourceVersion."""

from typing import Any, assert_never

from kwicket.core.state import State
from kwicket.failpoints import Failpoint, reach
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Page
from kwicket.ports.objects import Changed, Found, Missing, Objects, Refused
from kwicket_storage.encoding import decoded, encoded

PATH = "/apis/kwicket.dev/v1alpha1/ledgers"


class KubernetesLedger:
    """The port on top of single-object reads and writes of the API server."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def read(self, pool: str) -> Page | None:
        """The newest page, by a consistent read. Raises PageError."""
        match await self._objects.get(f"{PATH}/{pool}"):
            case Found(body):
                return _page(body)
            case Missing():
                return None

    async def open(self, pool: str, state: State) -> Page | Conflict:
        """Creates the Ledger object. Conflict if there is one."""
        reach(Failpoint.BEFORE_OPENING)
        answer = await self._objects.create(PATH, _body(pool, state))
        reach(Failpoint.AFTER_OPENING)
        match answer:
            case Found(body):
                return _page(body)
            case Changed():
                return Conflict()
            case Refused(message):
                raise UnavailableError(f"ledger {pool}: {message}")

    async def commit(self, page: Page, state: State) -> Page | Conflict:
        """Replaces the Ledger object at the page's resourceVersion.

        Raises ValueError if the version would fall, UnavailableError if the API server refuses
        the object (as it does when it is too large) or can't be reached.
        """
        if state.version < page.state.version:
            raise ValueError(f"ledger {page.pool}: version {state.version} would fall")
        body = _body(page.pool, state, page.stamp)
        grants = state.version > page.state.version
        reach(Failpoint.BEFORE_COMMIT if grants else Failpoint.BEFORE_ACKNOWLEDGEMENT)
        answer = await self._objects.replace(f"{PATH}/{page.pool}", body)
        reach(Failpoint.AFTER_COMMIT if grants else Failpoint.AFTER_ACKNOWLEDGEMENT)
        match answer:
            case Found(written):
                return Page(page.pool, state, written["metadata"]["resourceVersion"])
            case Missing() | Changed():
                return Conflict()
            case Refused(message):
                raise UnavailableError(f"ledger {page.pool}: {message}")
            case _:
                assert_never(answer)


def _page(body: dict[str, Any]) -> Page:
    metadata = body["metadata"]
    return Page(metadata["name"], decoded(body.get("spec", {})), metadata["resourceVersion"])


def _body(pool: str, state: State, stamp: str | None = None) -> dict[str, Any]:
    metadata = {"name": pool} | ({"resourceVersion": stamp} if stamp else {})
    return {
        "apiVersion": "kwicket.dev/v1alpha1",
        "kind": "Ledger",
        "metadata": metadata,
        "spec": encoded(state),
    }
