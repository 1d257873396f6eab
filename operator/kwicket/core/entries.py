"""Entries: the waiting Jobs as the heaps sort them."""

from msgspec import Struct

from kwicket.core.places import Cell
from kwicket.core.tickets import Ticket


class Entry(Struct, order=True, gc=False):
    """A waiting Job with its key: the smaller one starts earlier, whatever the moment.

    The order is total: two entries of the same Job compare by their fields to the end.
    """

    key: int
    """Minus the score on the pool's scale, as far as time does not change it (scale.py)."""
    submitted: int
    name: str
    """The Job's natural key (order.py)."""
    cell: Cell | None
    """Where it waits; None for a Job that is held or reserved."""
    ticket: Ticket
    ageing: bool
    """Whether it is in the class of those that gain by age (scale.py)."""
    gone: bool = False
    """Whether another entry, or none, stands for its Job by now."""
