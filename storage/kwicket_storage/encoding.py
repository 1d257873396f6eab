"""The state of a pool as plain data, and back: what a Ledger object's spec holds.

Fractions are text (`7/2`) and tokens are text, since JSON numbers are exact up to 2^53 only.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Any

from msgspec import Meta, Struct, ValidationError, convert, to_builtins

from kwicket.core.fairness import Fairness
from kwicket.core.leases import Lease
from kwicket.core.starts import Start
from kwicket.core.state import Intent, State

type _Token = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,17}\Z")]
type _Exact = Annotated[str, Meta(pattern=r"^(0|[1-9][0-9]*)(/[1-9][0-9]*)?\Z", max_length=2048)]
"""Checked before Python reads them: it takes ` 7`, `1_0`, `٣`, and dies of `1e999999999`."""


class _At(Struct, frozen=True):
    tenant: str
    at: _Exact


class _Starts(Struct, frozen=True):
    tenant: str
    at: list[int]
    lane: str = ""


class _Since(Struct, frozen=True):
    limit: str
    at: int


class _Intent(Struct, frozen=True):
    token: _Token
    job: str
    uid: str
    tenant: str
    width: Annotated[int, Meta(ge=0)]
    at: int
    cost: _Exact
    lane: str = ""


class _Spec(Struct, frozen=True, rename="camel"):
    version: _Token
    virtual_time: _Exact = "0"
    tags: list[_At] = []
    standing: list[_At] = []
    starts_since: list[_Since] = []
    starts: list[_Starts] = []
    intents: list[_Intent] = []
    last_grant: int = 0


def encoded(state: State) -> dict[str, Any]:
    """The state as JSON-ready data; the same state gives the same data."""
    fairness = state.fairness
    spec = _Spec(
        version=str(state.version),
        virtual_time=str(fairness.virtual_time),
        tags=_fractions(fairness.tags),
        standing=_fractions(fairness.standing),
        starts_since=[_Since(name, at) for name, at in sorted(state.starts_since.items())],
        starts=_grouped(state.starts),
        intents=[_intent(intent) for intent in state.intents],
        last_grant=state.last_grant,
    )
    data: dict[str, Any] = to_builtins(spec)
    return data


def decoded(data: Mapping[str, Any]) -> State:
    """The state that `encoded` wrote. Raises ValueError if the data is none."""
    try:
        spec = convert(data, _Spec)
        return State(
            version=int(spec.version),
            fairness=Fairness(
                Fraction(spec.virtual_time),
                {tag.tenant: Fraction(tag.at) for tag in spec.tags},
                {start.tenant: Fraction(start.at) for start in spec.standing},
            ),
            intents=tuple(_decoded_intent(intent) for intent in spec.intents),
            starts=tuple(_ungrouped(spec.starts)),
            starts_since={since.limit: since.at for since in spec.starts_since},
            last_grant=spec.last_grant,
        )
    except (ValidationError, ValueError) as error:
        raise ValueError(f"ledger: {error}") from error


def _fractions(values: Mapping[str, Fraction]) -> list[_At]:
    return [_At(tenant, str(value)) for tenant, value in sorted(values.items())]


def _grouped(starts: Iterable[Start]) -> list[_Starts]:
    groups: dict[tuple[str, str], list[int]] = {}
    for start in starts:
        groups.setdefault((start.tenant, start.lane), []).append(start.at)
    return [_Starts(tenant, sorted(at), lane) for (tenant, lane), at in sorted(groups.items())]


def _ungrouped(groups: Iterable[_Starts]) -> Iterable[Start]:
    starts = (Start(at, group.tenant, group.lane) for group in groups for at in group.at)
    return sorted(starts, key=lambda start: (start.at, start.tenant, start.lane))


def _intent(intent: Intent) -> _Intent:
    lease = intent.lease
    return _Intent(
        token=str(lease.token),
        job=lease.job,
        uid=lease.uid,
        tenant=lease.tenant,
        width=lease.width,
        at=intent.at,
        cost=str(intent.cost),
        lane=lease.lane,
    )


def _decoded_intent(data: _Intent) -> Intent:
    lease = Lease(data.uid, data.job, data.tenant, data.lane, data.width, int(data.token))
    return Intent(lease, data.at, Fraction(data.cost))
