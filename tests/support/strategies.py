"""What Hypothesis may choose from: limits, factors, traits, and the state of a pool."""

from hypothesis import strategies as st

from kwicket.core.fairness import Fairness
from kwicket.core.limits import Bound, Count, Jobs, Limit, Pods, Rate
from kwicket.core.priority import Age, FairShare, Priority, Trait
from kwicket.core.starts import Start
from kwicket.core.state import HIGHEST_TOKEN, Intent, State
from support.builders import lease, ticket

TENANTS = ("alice", "bob", "carol", "dave")
LANES = ("", "gpu", "cpu")

tenants = st.sampled_from(TENANTS)
lanes = st.sampled_from(LANES)
traits = st.integers(0, 10).map(lambda tenths: (("urgent", tenths * 100),) if tenths else ())
arrivals = st.builds(ticket, tenant=tenants, lane=lanes, traits=traits, width=st.integers(0, 3))
shares = st.dictionaries(tenants, st.integers(1, 7))
moments = st.integers(0, 2**53 - 1)
positive = st.fractions(min_value=0).filter(bool)


@st.composite
def limits(draw: st.DrawFn, *, rates: bool = True) -> tuple[Limit, ...]:
    """Up to four limits of all kinds, over the pool or a lane."""
    bounds: list[st.SearchStrategy[Bound]] = [
        st.integers(0, 5).map(Jobs),
        st.integers(0, 9).map(Pods),
    ]
    if rates:
        bounds.append(st.builds(Rate, st.integers(1, 4), st.sampled_from([1, 7, 40])))
    drawn = draw(st.lists(st.tuples(st.one_of(bounds), lanes, st.sampled_from(Count)), max_size=4))
    return tuple(
        Limit(f"limit-{number}", bound, lane, count)
        for number, (bound, lane, count) in enumerate(drawn)
    )


@st.composite
def priorities(draw: st.DrawFn, *, fair: bool = False) -> Priority:
    """A turn, a trait and an age; if `fair`, the turn outweighs the others together."""
    trait, age = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    turn = trait + age + 1 if fair else draw(st.integers(0, 4))
    full = draw(st.sampled_from([1, 10, 1000]))
    return Priority((FairShare(turn), Trait("urgent", trait), Age(age, full)))


@st.composite
def states(draw: st.DrawFn) -> State:
    """Any state of a pool, with fractions and tokens as large as they come."""
    now = draw(st.fractions(min_value=0))
    tags = draw(st.dictionaries(st.text(max_size=9), positive, max_size=5))
    standing = draw(st.dictionaries(st.text(max_size=9), st.fractions(0, 1), max_size=5))
    below = {name: now * share for name, share in standing.items() if now * share < now}
    starts = draw(st.lists(st.builds(Start, moments, tenants, lanes), max_size=8))
    tokens = st.integers(1, HIGHEST_TOKEN)
    leases = st.builds(lease, tenant=tenants, lane=lanes, width=st.integers(0, 9), token=tokens)
    intents = draw(st.lists(st.builds(Intent, leases, moments, positive), max_size=4))
    return State(
        version=draw(tokens),
        fairness=Fairness(now, {name: now + tag for name, tag in tags.items()}, below),
        intents=tuple(intents),
        starts=tuple(sorted(starts, key=lambda start: (start.at, start.tenant, start.lane))),
        starts_since=draw(st.dictionaries(st.text(min_size=1, max_size=9), moments, max_size=3)),
        last_grant=draw(moments),
    )
