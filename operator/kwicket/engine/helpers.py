"""Helpers: what intake asks of other rooms, which know it in turn."""

from typing import Protocol

from kwicket.core.jobs import JobSeen
from kwicket.core.lapse import Lapse


class Proofs(Protocol):
    """Whoever can prove that a submission has no live pod (release.py)."""

    def demand(self, uid: str, namespace: str) -> None:
        """Asks for the proof; `Intake.proved` is called when it is there."""
        ...


class Stops(Protocol):
    """Whoever can suspend Jobs that run without a grant (strays.py)."""

    def demand(self, job: JobSeen) -> bool:
        """Asks for a Job to be suspended; False if it must not be at the moment."""
        ...

    def forget(self, uid: str) -> None:
        """The Job has ended."""
        ...


class PutsBack(Protocol):
    """Whoever puts Jobs back in line whose leases have lapsed (lapses.py)."""

    def demand(self, job: JobSeen, found: Lapse) -> None:
        """Asks for what the pool wants to be done with it."""
        ...

    def forget(self, uid: str) -> None:
        """The Job has ended."""
        ...


class Replaces(Protocol):
    """Whoever has the pods of Jobs replaced late again (replacements.py)."""

    def consider(self, job: JobSeen) -> None:
        """Looks at a Job that holds a slot."""
        ...

    def forget(self, uid: str) -> None:
        """The Job has ended."""
        ...
