"""Enforcement: whether the API server itself keeps tenants from starting Jobs past Kwicket."""

from msgspec import Struct


class Enforcement(Struct, frozen=True):
    """What is known of the policies at the moment; the shell tells the engine of each change."""

    reason: str
    """One word for conditions, such as `PolicyMissing`."""
    message: str
    """What is wrong, of which object, and what to do."""

    @property
    def in_force(self) -> bool:
        """Whether every policy is there as it should be. If not, nothing is granted."""
        return self.reason == "InForce"


IN_FORCE = Enforcement("InForce", "the policies are there as the chart has them")
NOT_READ = Enforcement("NotRead", "the policies are being read")
