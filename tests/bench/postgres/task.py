"""What a process of the benchmark is asked to do, and what it says of it."""

from multiprocessing.synchronize import Barrier

from msgspec import Struct


class Task(Struct, frozen=True):
    """What a process does."""

    url: str
    number: int
    operators: int
    pools: int
    tenants: int
    waiting: int
    """Jobs of its own cluster in the line of each pool."""
    seconds: float


class Done(Struct, frozen=True):
    """What it has done."""

    grants: int
    conflicts: int
    processor: float
    """Seconds of its own processor time."""
    commits: list[float]
    """Seconds that each commit took that was no conflict."""
    seconds: float
    """How long it took."""
    deciding: float = 0
    """Seconds of its processor time for all that is done on its books."""


def meet_at(gate: Barrier) -> None:
    """Where the processes wait for each other before they begin."""
    _gates[:] = [gate]


def meet() -> None:
    """Waits for the others."""
    _gates[0].wait()


_gates: list[Barrier] = []


def name(number: int) -> str:
    """Of a pool."""
    return f"pool-{number}"
