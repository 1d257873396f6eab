"""The spec of a Ledger object, field by field, as crds/ledgers.yaml describes it.

Numbers that may pass 2^53 are text, since JSON numbers are exact up to there only. Text is checked
before Python reads it as a number: Python takes ` 7`, `1_0` and `٣`, and is slow with `9` * 5000.

A field that is not known is refused, since who writes a page back without it loses what a newer
version keeps there. So a field that is added is left out wherever it says nothing, as `kept` is: it
shuts out the versions before it, and must do so only where it is used.
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from kwicket.core.pools import Charging

type Token = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,17}\Z")]
type Whole = Annotated[str, Meta(pattern=r"^(0|[1-9][0-9]{0,511})\Z")]
"""A whole number; the scale alone may have more than 400 digits, where shares have few divisors
in common."""
type Amount = Annotated[str, Meta(pattern=r"^(0|[1-9][0-9]{0,63})\Z")]
"""A number of starts, or of slot-milliseconds."""
type Moment = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""Milliseconds since 1970, or a number of them."""
type Width = Annotated[int, Meta(ge=0, le=2**31 - 1)]
type OpenCharge = Annotated[
    str,
    Meta(
        pattern=r"^[1-9][0-9]{0,17} (0|[1-9][0-9]{0,9}) (0|[1-9][0-9]{0,15}) (0|[1-9][0-9]{0,63})\Z"
    ),
]
"""Token, slots, since when, and the amount, since there is one for each running Job."""


class Kept(Struct, frozen=True, forbid_unknown_fields=True):
    """What all below have in common."""


class TenantAt(Kept, frozen=True):
    """Where a tenant stands, in units of 1/scale."""

    tenant: str
    at: Whole


class TenantCredit(Kept, frozen=True):
    """What a tenant has paid for and not used, in units of 1/scale."""

    tenant: str
    amount: Whole


class TenantMean(Kept, frozen=True):
    """The mean run time of a tenant's Jobs in milliseconds."""

    tenant: str
    mean: Annotated[int, Meta(ge=1, le=2**53 - 1)]


class TenantCharges(Kept, frozen=True):
    """The open charges of a tenant, by token."""

    tenant: str
    open: list[OpenCharge]


class Starts(Kept, frozen=True):
    """The starts of a tenant in a lane."""

    tenant: str
    at: list[Moment]
    lane: str = ""


class Since(Kept, frozen=True):
    """From when on a rate limit knows all starts."""

    limit: str
    at: Moment


class IntentSpec(Kept, frozen=True):
    """A grant that was not seen on its Job yet."""

    token: Token
    job: str
    uid: str
    tenant: str
    width: Width
    at: Moment
    charge: Amount
    lane: str = ""


class ReservationSpec(Kept, frozen=True):
    """A wide Job whose turn has come."""

    job: str
    uid: str
    tenant: str
    width: Width
    at: Moment
    charge: Amount
    lane: str = ""
    kept: Moment | UnsetType = UNSET


class Spec(Kept, frozen=True, rename="camel"):
    """The whole. `scale` has no default, since no turn can be read without it."""

    version: Token
    scale: Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,511}\Z")]
    virtual_time: Whole = "0"
    tags: list[TenantAt] = []
    standing: list[TenantAt] = []
    credits: list[TenantCredit] = []
    charging: Charging = Charging.STARTS
    charges: list[TenantCharges] = []
    means: list[TenantMean] = []
    reservations: list[ReservationSpec] = []
    intents: list[IntentSpec] = []
    starts_since: list[Since] = []
    starts: list[Starts] = []
    last_grant: Moment = 0
