"""The screen: the demo's Jobs while they run, and the two orders side by side."""

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from e2e.demo.story import SUBMITTED, Bar

COLOURS = {"alice": "blue", "bob": "dark_orange", "carol": "green"}
WIDTH = 44
SECONDS = 11.0


def timeline(bars: list[Bar]) -> Group:
    """A line a Job: when it ran, as far as is known."""
    return Group(*(_line(bar) for bar in bars))


def orders(bars: list[Bar]) -> Table:
    """The order of starts with Kwicket beside the order of submission."""
    table = Table(title="order of starts", title_justify="left")
    for column in ("", "Kwicket", "first in, first out"):
        table.add_column(column)
    pairs = zip(bars, SUBMITTED, strict=True)
    for number, (bar, (tenant, job)) in enumerate(pairs, start=1):
        table.add_row(f"{number}.", _name(bar.tenant, bar.job), _name(tenant, job))
    return table


class Screen:
    """Shows the timeline live on a terminal, and nothing until the end elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, refresh_per_second=10)

    def __enter__(self) -> "Screen":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def show(self, bars: list[Bar]) -> None:
        """Shows how the Jobs stand now."""
        if self._console.is_terminal:
            self._live.update(timeline(bars))


def _line(bar: Bar) -> Text:
    text = Text(f"{bar.job:<9}", style=COLOURS[bar.tenant])
    if bar.started is None:
        return text.append("waits", style="dim")
    begin = _column(bar.started)
    end = _column(bar.ended) if bar.ended is not None else begin + 1
    text.append(" " * begin)
    text.append("━" * max(end - begin, 1), style=COLOURS[bar.tenant])
    done = f" {bar.started:.1f} s" if bar.ended is not None else " runs"
    return text.append(done, style="dim")


def _column(seconds: float) -> int:
    return min(round(seconds / SECONDS * WIDTH), WIDTH)


def _name(tenant: str, job: str) -> Text:
    return Text(job, style=f"bold {COLOURS[tenant]}" if tenant == "carol" else COLOURS[tenant])
