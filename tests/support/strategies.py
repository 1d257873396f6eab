"""What Hypothesis may choose from: the state of a pool."""

from hypothesis import strategies as st

from kwicket.core.fairness import Fairness
from kwicket.core.pools import Charging
from kwicket.core.starts import Start
from kwicket.core.state import HIGHEST_TOKEN, Charge, Intent, Reservation, State
from support.builders import lease

names = st.text(max_size=9)
tenants = st.sampled_from(("alice", "bob", "carol", "dave"))
lanes = st.sampled_from(("", "gpu", "cpu"))
moments = st.integers(0, 2**53 - 1)
tokens = st.integers(1, HIGHEST_TOKEN)
amounts = st.integers(0, 10**40)
positive = st.integers(1, 10**40)
widths = st.integers(0, 9)


@st.composite
def turns(draw: st.DrawFn) -> Fairness:
    """Any turns, with numbers as large as they come."""
    now = draw(amounts)
    tags = draw(st.dictionaries(names, positive, max_size=5))
    standing = draw(st.dictionaries(names, st.integers(0, now - 1), max_size=5)) if now else {}
    return Fairness(
        draw(positive),
        now,
        {name: now + above for name, above in tags.items()},
        standing,
        draw(st.dictionaries(names, positive, max_size=5)),
    )


leases = st.builds(lease, tenant=tenants, lane=lanes, width=widths, token=tokens)
intents = st.builds(Intent, leases, moments, amounts)
reservations = st.builds(
    Reservation,
    uid=names,
    job=names,
    tenant=names,
    lane=lanes,
    width=widths,
    at=moments,
    charge=amounts,
    kept=st.none() | moments,
)
charges = st.builds(Charge, tokens, tenants, widths, moments, amounts)
starts = st.builds(Start, moments, tenants, lanes)


@st.composite
def states(draw: st.DrawFn) -> State:
    """Any state of a pool."""
    reserved = draw(st.lists(reservations, max_size=3, unique_by=lambda one: one.tenant))
    started = draw(st.lists(starts, max_size=8))
    opened = draw(st.lists(charges, max_size=4, unique_by=lambda one: one.token))
    return State(
        version=draw(tokens),
        fairness=draw(turns()),
        charging=draw(st.sampled_from(Charging)),
        intents=tuple(draw(st.lists(intents, max_size=4))),
        reservations=tuple(reserved),
        charges=tuple(sorted(opened, key=lambda one: one.token)),
        means=draw(st.dictionaries(names, st.integers(1, 2**53 - 1), max_size=4)),
        starts=tuple(sorted(started, key=lambda one: (one.at, one.tenant, one.lane))),
        starts_since=draw(st.dictionaries(st.text(min_size=1, max_size=9), moments, max_size=3)),
        last_grant=draw(moments),
    )
