"""The picture of a run, as SVG: who ran when, beside what first in, first out would have given."""

from pathlib import Path

from e2e.demo.story import SUBMITTED, Bar

COLOURS = {"alice": "#4269d0", "bob": "#ef8e3b", "carol": "#3ca951"}
SLOT, LEFT, HEIGHT = 74, 130, 34


def draw(bars: list[Bar], target: Path) -> None:
    """Writes the picture of these bars, in the order of their starts."""
    kwicket = [(bar.tenant, bar.job) for bar in bars]
    width = LEFT + SLOT * len(bars) + 20
    rows = [
        _row("Kwicket", kwicket, 58),
        _row("first in, first out", list(SUBMITTED), 118),
    ]
    place = [job for _, job in kwicket].index("carol-1") + 1
    caption = (
        "alice submits 6 Jobs, bob 2, carol 1; one runs at a time."
        f" carol starts {_ordinal(place)} instead of {_ordinal(len(bars))}."
    )
    target.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 172" role="img"'
        f' font-family="system-ui, sans-serif" font-size="14">\n'
        f"<title>{caption}</title>\n"
        f'<rect width="{width}" height="172" fill="#ffffff"/>\n'
        f'<text x="16" y="30" font-size="16" fill="#1b1e23">{caption}</text>\n'
        + "\n".join(rows)
        + "\n</svg>\n"
    )


def _row(label: str, jobs: list[tuple[str, str]], top: int) -> str:
    parts = [f'<text x="16" y="{top + 22}" fill="#1b1e23">{label}</text>']
    for number, (tenant, job) in enumerate(jobs):
        left = LEFT + 16 + number * SLOT
        parts.append(
            f'<rect x="{left}" y="{top}" width="{SLOT - 6}" height="{HEIGHT}" rx="4"'
            f' fill="{COLOURS[tenant]}"/>'
            f'<text x="{left + (SLOT - 6) // 2}" y="{top + 22}" text-anchor="middle"'
            f' fill="#ffffff">{job}</text>'
        )
    return "\n".join(parts)


def _ordinal(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")
