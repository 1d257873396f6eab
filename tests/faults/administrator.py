"""The administrator: what is declared at first, and what is changed while Jobs run."""

from collections.abc import Callable
from typing import Any

from faults.options import TEAMS, Edit, Options
from faults.store import LANES, LEDGERS, LIMITS, NAMESPACES, POOLS, Body, Store, changed

POOL = "pool"
SECOND = "second"


class Administrator:
    """`after(seconds, what, *arguments)` calls in the world."""

    def __init__(self, options: Options, store: Store, after: Callable[..., Any]) -> None:
        self._options = options
        self._store = store
        self._after = after

    def declare(self) -> None:
        """Before anybody begins."""
        options = self._options
        for namespace in TEAMS:
            self._store.put(NAMESPACES, {"metadata": {"name": namespace, "labels": {}}})
        self._declare_pool()
        self.limit("jobs", {"concurrency": {"jobs": options.jobs}})
        if options.pools > 1:
            self._store.put(POOLS, {"metadata": {"name": SECOND}, "spec": {}})
            self.limit("second", {"pool": SECOND, "concurrency": {"jobs": 1}})
        if options.pods:
            self.limit("pods", {"concurrency": {"pods": options.pods}})
        if options.each:
            self.limit("each", {"concurrency": {"jobs": options.each}, "count": "EachTenant"})
        if options.rate is not None:
            starts, seconds = options.rate
            self.limit("rate", {"rate": {"starts": starts, "per": f"{seconds}s"}})
        if options.lanes:
            self._store.put(LANES, {"metadata": {"name": "lane"}, "spec": {"pool": POOL}})
            self.limit("in-lane", {"lane": "lane", "concurrency": {"jobs": 1}})

    def _declare_pool(self) -> None:
        options = self._options
        shares = [{"tenant": tenant, "share": share} for tenant, share in options.shares]
        charge = "Time" if options.time else "Starts"
        spec: Body = {"default": True, "fairness": {"charge": charge, "shares": shares}}
        if options.lease:
            spec["lease"] = {"duration": f"{options.lease}s"}
        self._store.put(POOLS, {"metadata": {"name": POOL}, "spec": spec}, "administrator")

    def limit(self, name: str, spec: Body) -> None:
        """Declares a limit, or changes it."""
        where = {} if "lane" in spec else {"pool": POOL}
        body = self._store.get(LIMITS, ("", name))
        known = {"metadata": {"name": name}} if body is None else body.body
        if known.get("spec") != where | spec:
            self._store.put(LIMITS, known | {"spec": where | spec}, "administrator")

    def _pool(self, paused: bool) -> None:
        pool = self._store.get(POOLS, ("", POOL))
        if pool is not None:
            self._store.put(POOLS, changed(pool.body, spec={"paused": paused}), "administrator")

    def edit(self, edit: Edit) -> None:
        """An administrator does something; all but the Ledger is as before at the end."""
        match edit.what:
            case "limit":
                self.limit("jobs", {"concurrency": {"jobs": edit.amount}})
            case "pause":
                self._pool(True)
                self._after(10, self._pool, False)
            case "ledger":
                self._store.remove(LEDGERS, ("", POOL), "administrator")
            case "pool":
                self._store.remove(LEDGERS, ("", POOL), "administrator")
                self._store.remove(POOLS, ("", POOL), "administrator")
                self._after(5, self._declare_pool)
