"""The scene of a history: one cluster, or several, and what is asked of all of them together."""

from collections.abc import Iterator

from faults.operators import Operator
from faults.options import Options, Work
from faults.server import is_true
from faults.store import JOBS, LEDGERS, PODS, Body, Change
from faults.world import NOWHERE, Voice, World


class Scene:
    """Of one cluster."""

    def __init__(self, *worlds: World) -> None:
        self.worlds = worlds
        """Those that come to their end."""

    def begin(self) -> None:
        """Everybody begins."""
        for world in self.worlds:
            world.begin()

    def operators(self) -> Iterator[Operator]:
        """Those of all clusters."""
        for world in self.worlds:
            yield from world.operators

    def quiet(self) -> bool:
        """Whether nothing is left to be done."""
        for world in self.worlds:
            if any(not over(job.body, world.options) for job in world.store.all(JOBS)):
                return False
            phases = (pod.body["status"]["phase"] for pod in world.store.all(PODS))
            if any(phase in ("Pending", "Running") for phase in phases):
                return False
        return not self.intents()

    def intents(self) -> bool:
        """Whether a ledger has grants that were not seen on their Jobs yet."""
        stores = (world.store for world in self.worlds)
        return any(page.body["spec"].get("intents") for s in stores for page in s.all(LEDGERS))

    def probe(self, number: int, seconds: float) -> None:
        """Submits a Job that finds a slot as soon as one is free."""
        work = Work(f"probe-{number}", "team-a", f"probe-{number}", 0, seconds)
        self._where(number).add(work)

    def probes(self, most: int) -> int:
        """How many of them run."""
        named = (self._where(n).store.get(JOBS, ("team-a", f"probe-{n}")) for n in range(most))
        return sum(1 for job in named if job is not None and not job.body["spec"]["suspend"])

    def _where(self, number: int) -> World:
        return self.worlds[number % len(self.worlds)]

    def changes(self) -> list[Change]:
        """All that was stored."""
        return self.worlds[0].store.changes

    def voices(self) -> list[Voice]:
        """All that was told."""
        return self.worlds[0].voices

    def forget(self) -> None:
        """Lets go of everything."""
        for world in self.worlds:
            world.store.forget()


def over(job: Body, options: Options) -> bool:
    """Whether a Job has come to its end, or is one that can't; not while it still has to go."""
    if "deletionTimestamp" in job["metadata"]:
        return False
    if is_true(job, "Complete") or is_true(job, "Failed"):
        return not options.ttl
    name, labels = job["metadata"]["name"], job["metadata"]["labels"]
    lasting = options.lasting
    refused = lasting is not None and lasting.what == "refused" and lasting.where == name
    unplaced = labels.get("kwicket.dev/pool") == NOWHERE
    return bool(job["spec"]["suspend"]) and (refused or unplaced)
