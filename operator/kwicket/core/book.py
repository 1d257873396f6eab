"""The book of a pool: its rules, its state, who waits and who holds a slot.

The one mutable thing of the core. `decide` reads it and changes nothing.
"""

from collections.abc import Iterator, Mapping

from kwicket.core.leases import Lease
from kwicket.core.pools import Rules
from kwicket.core.state import State
from kwicket.core.tickets import Ticket

type File = tuple[str, str, int]
"""A tenant, a lane and a width: whose Jobs are all eligible, or none of them."""


class Book:
    """A plain class, since it changes in place. A submission waits or holds, never both."""

    def __init__(self, rules: Rules, state: State) -> None:
        self.rules = rules
        self.state = state
        self._waiting: dict[str, Ticket] = {}
        self._leases: dict[str, Lease] = {}
        self._line: dict[str, int] = {}
        self._files: dict[File, dict[str, Ticket]] = {}

    @property
    def waiting(self) -> int:
        """How many Jobs wait."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """How many Jobs hold a slot."""
        return len(self._leases)

    def tickets(self) -> Iterator[Ticket]:
        """The Jobs in line, in no order."""
        return iter(self._waiting.values())

    def leases(self) -> Iterator[Lease]:
        """The Jobs that hold a slot, in no order."""
        return iter(self._leases.values())

    def ticket(self, uid: str) -> Ticket | None:
        """The ticket of a submission, if it waits here."""
        return self._waiting.get(uid)

    def lease(self, uid: str) -> Lease | None:
        """The lease of a submission, if it holds a slot here."""
        return self._leases.get(uid)

    def line(self) -> Mapping[str, int]:
        """How many Jobs of each tenant wait, held ones included."""
        return self._line

    def files(self) -> Mapping[File, Mapping[str, Ticket]]:
        """The Jobs in line that are not held, by tenant, lane and width."""
        return self._files

    def submit(self, ticket: Ticket) -> None:
        """Puts a Job in line, or says anew what is known of one. It gives up any slot it had."""
        self._leases.pop(ticket.uid, None)
        self._drop(ticket.uid)
        self._waiting[ticket.uid] = ticket
        self._line[ticket.tenant] = self._line.get(ticket.tenant, 0) + 1
        if not ticket.held:
            self._files.setdefault(_file(ticket), {})[ticket.uid] = ticket

    def occupy(self, lease: Lease) -> None:
        """Gives a Job its slot; it leaves the line."""
        self._drop(lease.uid)
        self._leases[lease.uid] = lease

    def forget(self, uid: str) -> None:
        """Takes a submission out of the line and frees its slot."""
        self._drop(uid)
        self._leases.pop(uid, None)

    def _drop(self, uid: str) -> None:
        ticket = self._waiting.pop(uid, None)
        if ticket is None:
            return
        self._line[ticket.tenant] -= 1
        if not self._line[ticket.tenant]:
            del self._line[ticket.tenant]
        if not ticket.held:
            file = self._files[_file(ticket)]
            del file[uid]
            if not file:
                del self._files[_file(ticket)]


def _file(ticket: Ticket) -> File:
    return ticket.tenant, ticket.lane, ticket.width
