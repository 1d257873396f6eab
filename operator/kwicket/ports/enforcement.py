"""Enforcement: whether the API server keeps tenants from starting Jobs past Kwicket, and keeps all
that Kwicket writes.
"""

from msgspec import Struct


class Enforcement(Struct, frozen=True):
    """What is known of the policies and definitions now; the shell tells the engine of changes."""

    reason: str
    """One word for conditions, such as `PolicyMissing`."""
    message: str
    """What is wrong, of which object, and what to do."""

    @property
    def in_force(self) -> bool:
        """Whether all of it is there as it should be. If not, nothing is granted."""
        return self.reason == "InForce"

    @property
    def outdated(self) -> bool:
        """Whether it is the definitions of the kinds that are wrong: older than this version."""
        return self.reason == "DefinitionsOutdated"


IN_FORCE = Enforcement("InForce", "the policies are there as the chart has them")
NOT_READ = Enforcement("NotRead", "the policies are being read")
