"""Rests: how long a Job that was put back in line stays out of it, before it may start again."""

from kwicket.core.jobs import JobSeen
from kwicket.core.leases import pause
from kwicket.engine.alarms import Alarms
from kwicket.ports.clock import Clock


class Rests:
    """A rest begins when this replica sees the Job put back, and is told by its deliveries."""

    def __init__(self, alarms: Alarms, clock: Clock) -> None:
        self._alarms = alarms
        self._clock = clock
        self._ends: dict[str, tuple[int, float]] = {}

    def needs(self, job: JobSeen) -> bool:
        """Whether a Job that is back in line rests still; nothing is noted."""
        if not job.suspended or job.token is None or job.deliveries < 1:
            return False
        deliveries, end = self._ends.get(job.uid, (0, 0.0))
        return deliveries != job.deliveries or self._clock.monotonic() < end

    def begin(self, job: JobSeen) -> None:
        """Notes a Job that `needs` a rest; it is considered again after that."""
        deliveries, end = self._ends.get(job.uid, (0, 0.0))
        if deliveries != job.deliveries:
            end = self._clock.monotonic() + pause(job.deliveries)
            self._ends[job.uid] = job.deliveries, end
        self._alarms.set(job.uid, end)

    def forget(self, uid: str) -> None:
        """Nothing is kept of a Job that has ended."""
        self._ends.pop(uid, None)
