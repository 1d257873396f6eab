"""Leases: the granted Jobs that hold a slot."""

from msgspec import Struct


class Lease(Struct, frozen=True, gc=False):
    """A granted Job that has not ended, or the live pods that a vanished one left behind."""

    uid: str
    job: str
    tenant: str
    lane: str
    width: int
    token: int
