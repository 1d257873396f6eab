"""The state of a pool as plain data, and back: what a Ledger object's spec holds (spec.py)."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import UNSET, DecodeError, ValidationError, convert, json, to_builtins

from kwicket import __version__
from kwicket.core.fairness import Fairness
from kwicket.core.leases import Lease
from kwicket.core.starts import Start
from kwicket.core.state import Charge, Intent, Reservation, State
from kwicket.ports.ledger import PageError
from kwicket_storage import spec as shapes
from kwicket_storage.spec import Spec


def encoded(state: State) -> dict[str, Any]:
    """The state as JSON-ready data; the same state gives the same data."""
    data: dict[str, Any] = to_builtins(_spec(state))
    return data


def decoded(data: Mapping[str, Any]) -> State:
    """The state that `encoded` wrote. Raises PageError if the data is none."""
    try:
        return _state(convert(data, Spec))
    except (ValidationError, ValueError) as error:
        raise _refused(error) from error


def as_text(state: State) -> str:
    """The state as JSON."""
    return json.encode(_spec(state)).decode()


def of_text(text: str) -> State:
    """The state that `as_text` wrote. Raises PageError if the text is none."""
    try:
        return _state(_TEXT.decode(text))
    except (DecodeError, ValueError) as error:
        raise _refused(error) from error


_TEXT = json.Decoder(Spec)


def _refused(error: Exception) -> PageError:
    return PageError(
        f"Kwicket {__version__} does not understand this ledger: {error}. It leaves it as it is,"
        " and grants nothing: if a newer Kwicket wrote it, upgrade this one"
    )


def _spec(state: State) -> Spec:
    fairness = state.fairness
    return Spec(
        version=str(state.version),
        scale=str(fairness.scale),
        virtual_time=str(fairness.virtual_time),
        tags=_at(fairness.tags),
        standing=_at(fairness.standing),
        credits=_credits(fairness.credits),
        charging=state.charging,
        charges=_charges(state.charges),
        means=[shapes.TenantMean(tenant, mean) for tenant, mean in state.means.items()],
        reservations=[_reservation(reservation) for reservation in state.reservations],
        intents=[_intent(intent) for intent in state.intents],
        starts_since=[shapes.Since(name, at) for name, at in sorted(state.starts_since.items())],
        starts=_starts(state.starts),
        last_grant=state.last_grant,
    )


def _state(spec: Spec) -> State:
    return State(
        version=int(spec.version),
        fairness=_decoded_fairness(spec),
        charging=spec.charging,
        intents=tuple(_decoded_intent(intent) for intent in spec.intents),
        reservations=tuple(_decoded_reservation(one) for one in spec.reservations),
        charges=_decoded_charges(spec.charges),
        means={one.tenant: one.mean for one in spec.means},
        starts=_decoded_starts(spec.starts),
        starts_since={since.limit: since.at for since in spec.starts_since},
        last_grant=spec.last_grant,
    )


def _at(values: Mapping[str, int]) -> list[shapes.TenantAt]:
    return [shapes.TenantAt(tenant, str(value)) for tenant, value in sorted(values.items())]


def _credits(values: Mapping[str, int]) -> list[shapes.TenantCredit]:
    return [shapes.TenantCredit(tenant, str(value)) for tenant, value in sorted(values.items())]


def _decoded_fairness(spec: Spec) -> Fairness:
    return Fairness(
        int(spec.scale),
        int(spec.virtual_time),
        {tag.tenant: int(tag.at) for tag in spec.tags},
        {start.tenant: int(start.at) for start in spec.standing},
        {credit.tenant: int(credit.amount) for credit in spec.credits},
    )


def _charges(charges: Iterable[Charge]) -> list[shapes.TenantCharges]:
    groups: dict[str, list[str]] = {}
    for one in sorted(charges, key=lambda one: one.token):
        text = f"{one.token} {one.slots} {one.since} {one.amount}"
        groups.setdefault(one.tenant, []).append(text)
    return [shapes.TenantCharges(tenant, texts) for tenant, texts in sorted(groups.items())]


def _decoded_charges(groups: Iterable[shapes.TenantCharges]) -> tuple[Charge, ...]:
    charges = []
    for group in groups:
        for text in group.open:
            token, slots, since, amount = map(int, text.split(" "))
            charges.append(Charge(token, group.tenant, slots, since, amount))
    return tuple(sorted(charges, key=lambda charge: charge.token))


def _starts(starts: Iterable[Start]) -> list[shapes.Starts]:
    groups: dict[tuple[str, str], list[int]] = {}
    for start in starts:
        groups.setdefault((start.tenant, start.lane), []).append(start.at)
    groups = dict(sorted(groups.items()))
    return [shapes.Starts(tenant, sorted(at), lane) for (tenant, lane), at in groups.items()]


def _decoded_starts(groups: Iterable[shapes.Starts]) -> tuple[Start, ...]:
    starts = (Start(at, group.tenant, group.lane) for group in groups for at in group.at)
    return tuple(sorted(starts, key=lambda start: (start.at, start.tenant, start.lane)))


def _intent(intent: Intent) -> shapes.IntentSpec:
    lease = intent.lease
    return shapes.IntentSpec(
        token=str(lease.token),
        job=lease.job,
        uid=lease.uid,
        tenant=lease.tenant,
        width=lease.width,
        at=intent.at,
        charge=str(intent.charge),
        lane=lease.lane,
    )


def _decoded_intent(data: shapes.IntentSpec) -> Intent:
    lease = Lease(data.uid, data.job, data.tenant, data.lane, data.width, int(data.token))
    return Intent(lease, data.at, int(data.charge))


def _reservation(reservation: Reservation) -> shapes.ReservationSpec:
    return shapes.ReservationSpec(
        job=reservation.job,
        uid=reservation.uid,
        tenant=reservation.tenant,
        width=reservation.width,
        at=reservation.at,
        charge=str(reservation.charge),
        lane=reservation.lane,
        kept=UNSET if reservation.kept is None else reservation.kept,
    )


def _decoded_reservation(data: shapes.ReservationSpec) -> Reservation:
    return Reservation(
        uid=data.uid,
        job=data.job,
        tenant=data.tenant,
        lane=data.lane,
        width=data.width,
        at=data.at,
        charge=int(data.charge),
        kept=data.kept if isinstance(data.kept, int) else None,
    )
