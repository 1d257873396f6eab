"""Arrivals: the Jobs that a simulation submits, each with the time that it will run."""

from msgspec import Struct


class Arrival(Struct, frozen=True, gc=False):
    """A Job that comes at a moment and, once started, runs for a while. Its name is its own."""

    name: str
    tenant: str
    at: int
    """Milliseconds since the simulation began."""
    runs: int
    """Milliseconds from its start to its end."""
    pool: str | None = None
    """The pool that it names, None if it names none."""
    lane: str | None = None
    traits: tuple[tuple[str, str], ...] = ()
    """Names and values of its traits, as a label says them."""
    width: int = 1
    """How many pods run at once, 0 or more."""

    @property
    def work(self) -> int:
        """Slots times milliseconds."""
        return self.width * self.runs
