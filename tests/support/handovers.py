"""What a benchmark says of the handovers of a slot from one cluster to another."""

import json
import statistics
from collections.abc import Sequence


def summary(seconds: Sequence[float], *, as_json: bool) -> str:
    """How many there were, and how long they took, in milliseconds."""
    took = sorted(seconds)
    found = {
        "handovers": len(took),
        "p50_ms": round(statistics.median(took) * 1000, 1),
        "p99_ms": round(took[int(len(took) * 0.99)] * 1000, 1),
    }
    return json.dumps(found) if as_json else "\n".join(f"{k}: {v}" for k, v in found.items())
