"""Writes as the API server itself counts them.

A run is counted up to its last Complete, and so without the one write of its end that acknowledges
the last starts.
"""

import re

from e2e.plane.api import Api

WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE")
_LINE = re.compile(r"^apiserver_request_total\{(.*)\} ([0-9.e+]+)$")
_LABEL = re.compile(r'(\w+)="([^"]*)"')


async def counted(api: Api) -> int:
    """All writes so far that nobody but Kwicket makes: patches of Jobs, and its own objects.

    Events are not among them.
    """
    metrics = (await api.get("/metrics"))["text"]
    total = 0.0
    for line in metrics.splitlines():
        match = _LINE.match(line)
        if match and _is_ours(dict(_LABEL.findall(match[1]))):
            total += float(match[2])
    return round(total)


def _is_ours(labels: dict[str, str]) -> bool:
    if labels["verb"] not in WRITES:
        return False
    if labels["group"] == "kwicket.dev":
        return True
    patched = labels["resource"] == "jobs" and labels["verb"] in ("PATCH", "APPLY")
    return labels["group"] == "batch" and patched and not labels["subresource"]
