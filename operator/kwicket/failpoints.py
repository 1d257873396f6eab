"""Failpoints: where the tests have the process killed, between two durable steps. For tests only.

Whoever changes the steps of a grant or of a release sees to it that there is a point between any
two. Nothing here may do more than end the process: a test must find what a power cut would leave.
"""

import os
import signal
from enum import StrEnum

VARIABLE = "KWICKET_FAILPOINT"
"""Names the point at which the process ends; without it nothing happens anywhere."""


class Failpoint(StrEnum):
    """In the order in which a grant reaches them, then a release, then what else is written."""

    BEFORE_OPENING = "before-opening"
    """A pool has no ledger, and is about to get one."""
    AFTER_OPENING = "after-opening"
    """It has one, by which nothing was granted."""
    BEFORE_COMMIT = "before-commit"
    """Grants are decided; the ledger does not know them."""
    AFTER_COMMIT = "after-commit"
    """The ledger has them; no Job does."""
    AFTER_REOPEN = "after-reopen"
    """A Job that ran before has its pod template open for the new token, and does not carry it."""
    AFTER_START = "after-start"
    """A Job carries its token and is started; nobody has noted that."""
    AFTER_EVENT = "after-event"
    """The author of a Job was told something."""
    BEFORE_ACKNOWLEDGEMENT = "before-acknowledgement"
    """Started Jobs and ended ones are known; the ledger still has their grants and charges."""
    AFTER_ACKNOWLEDGEMENT = "after-acknowledgement"
    """The ledger was told so."""
    AFTER_STATUS = "after-status"
    """A Pool, Lane or Limit shows how it stands."""
    AFTER_SUSPENSION = "after-suspension"
    """A Job whose lease has lapsed is suspended; it is not in line."""
    BEFORE_REPLACEMENT = "before-replacement"
    """A Job was started beside pods that are gone now; its own are replaced early still."""
    AFTER_REPLACEMENT = "after-replacement"
    """Its pods are replaced late again; nobody has noted that."""
    AFTER_LEASE = "after-lease"
    """This replica leads, and has done nothing as a leader."""


_armed = Failpoint(os.environ[VARIABLE]) if VARIABLE in os.environ else None


def reach(point: Failpoint) -> None:
    """Ends the process by SIGKILL if this is the point that the environment names."""
    if point is _armed:
        os.kill(os.getpid(), signal.SIGKILL)
