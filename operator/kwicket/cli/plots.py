"""Pictures of a run: who held the slots, and how far each tenant was from its turn."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kwicket.cli.rehearsal import Refused
from kwicket.core.order import natural_key
from kwicket.core.pools import Charging
from kwicket.sim.lag import Lag, lags
from kwicket.sim.run import Run
from kwicket.sim.shares import shares_over_time
from kwicket.sim.tide import Held

if TYPE_CHECKING:
    from matplotlib.axes import Axes

type Plotter = Callable[[Run, Path], None]

BINS = 400
"""Into how many spans the time of a run is cut."""
MOST = 8
"""How many tenants of a pool have a colour: those that used the most slot-seconds."""

_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee8866", "#777777")


def plotter() -> Plotter:
    """What draws. Raises Refused if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401  # an extra: only who draws needs it
    except ImportError:
        way_out = "install it with: pip install 'kwicket[plot]'"
        raise Refused([f"kwicket simulate: --plot needs matplotlib; {way_out}"]) from None
    return draw


def draw(run: Run, path: Path) -> None:
    """Writes for each pool a row a tenant with its share over time, and the lags of all.

    The run must have been watched. The same run gives the same bytes.
    """
    import matplotlib
    from matplotlib.figure import Figure

    pools = sorted({grant.pool for grant in run.grants})
    shown = {pool: _heaviest(run, pool) for pool in pools}
    heights = [height for tenants in shown.values() for height in [1.0] * len(tenants) + [4.0]]
    figure = Figure(figsize=(11, 1 + sum(heights)), layout="constrained")
    axes = iter(
        figure.subplots(len(heights) or 1, squeeze=False, height_ratios=heights or [1]).flat
    )
    for pool, tenants in shown.items():
        _draw_shares(axes, run, pool, tenants)
        _draw_lags(next(axes), run, pool, tenants)
    with matplotlib.rc_context({"svg.hashsalt": "kwicket"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def _heaviest(run: Run, pool: str) -> list[str]:
    work: dict[str, int] = {}
    for grant in run.grants:
        if grant.pool == pool:
            tenant = grant.arrival.tenant
            work[tenant] = work.get(tenant, 0) + grant.arrival.work
    chosen = sorted(work, key=lambda tenant: (-work[tenant], natural_key(tenant)))[:MOST]
    return sorted(chosen, key=natural_key)


def _draw_shares(rows: "Iterator[Axes]", run: Run, pool: str, tenants: Sequence[str]) -> None:
    """A row a tenant: coloured what its Jobs held, and as a line what was its due."""
    unit, _ = _unit(run)
    spans = list(shares_over_time(run, pool, tenants, BINS))
    edges = [0.0, *(stop / unit for stop, _ in spans)]
    for tenant, colour in zip(tenants, _COLOURS, strict=False):
        axes = next(rows)
        held = [one[tenant] for _, one in spans]
        axes.stairs([_part(one.got, one) for one in held], edges, fill=True, color=colour)
        axes.stairs([_part(one.due, one) for one in held], edges, color="black", baseline=None)
        axes.set(xlim=(0, edges[-1] or 1), ylim=(0, 1.05), ylabel=tenant, xticklabels=[])
        if tenant == tenants[0]:
            axes.set(title=f"Pool {pool}: share of the slots in use, and as a line what was due")


def _draw_lags(axes: "Axes", run: Run, pool: str, tenants: Sequence[str]) -> None:
    """A line a tenant, and its bounds, dashed, to either side."""
    unit, name = _unit(run)
    timed = run.world.catalog.pools[pool].charging is Charging.TIME
    scale = 1000.0 if timed else 1.0
    for lag, colour in zip(lags(run, pool, tenants), _COLOURS, strict=False):
        axes.plot(*_points(lag, unit, scale), color=colour, linewidth=1, label=lag.tenant)
        for side in (-lag.bound, lag.bound):
            axes.axhline(side / scale, color=colour, linewidth=0.8, linestyle="--")
    axes.set(
        title=f"Pool {pool}: granted ahead of its turn (above 0) or behind it, and the bound",
        xlabel=name,
        xlim=(0, max(run.end, 1) / unit),
        ylabel="slot-seconds over share" if timed else "starts over share",
    )
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _part(slots: float, held: Held) -> float:
    return slots / held.all if held.all else 0.0


def _points(lag: Lag, unit: float, scale: float) -> tuple[Sequence[float], Sequence[float]]:
    times = [at / unit for at, _ in lag.points]
    return times, [float("nan") if value is None else value / scale for _, value in lag.points]


def _unit(run: Run) -> tuple[float, str]:
    """Milliseconds of the unit on the axis of time, and its name."""
    for milliseconds, name in ((86_400_000.0, "days"), (3_600_000.0, "hours"), (60_000.0, "min")):
        if run.end >= 4 * milliseconds:
            return milliseconds, name
    return 1000.0, "seconds"
