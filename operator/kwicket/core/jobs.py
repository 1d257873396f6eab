"""What Kwicket knows of a Job, its pods and its namespace: the facts that intake judges."""

from collections.abc import Mapping

from msgspec import Struct


class JobSeen(Struct, frozen=True, gc=False):
    """A managed Job at one resourceVersion."""

    namespace: str
    name: str
    uid: str
    version: str
    """Its resourceVersion: the precondition of a write."""
    created: int
    """Milliseconds since 1970."""
    tenant: str
    pool: str | None = None
    """The pool label, None if absent."""
    lane: str | None = None
    traits: tuple[tuple[str, str], ...] = ()
    """Names and values of the trait labels, as written."""
    held: bool = False
    suspended: bool = True
    settled: bool = True
    """While suspended: the Job controller has seen it and makes no more pods."""
    started: bool = False
    """Its status says since when it runs; up to Kubernetes 1.35 also after it was suspended."""
    ended: bool = False
    """Complete or Failed: true only when no pod is left."""
    finished: int | None = None
    """When it ended by its own status, in milliseconds since 1970; None while it has not."""
    deleting: bool = False
    parallelism: int = 1
    completions: int | None = None
    indexed: bool = False
    succeeded: int = 0
    token: int | None = None
    granted_pool: str | None = None
    """The pool that granted it, by our annotation."""
    beside: bool = False
    """Its pods are made although earlier ones have not ended (podReplacementPolicy)."""
    deliveries: int = 0
    """How often it was started, by a grant or found running without one."""
    suspended_by: str = ""
    """Who put it back in line after a grant, by field manager; empty if that was Kwicket."""

    @property
    def job(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def ran(self) -> bool:
        """Whether it was ever started, by a grant or without one, and may have left pods."""
        return self.token is not None or self.deliveries > 0

    @property
    def width(self) -> int:
        """How many pods run at once: min(parallelism, completions)."""
        if self.completions is None:
            return self.parallelism
        return min(self.parallelism, self.completions)


class PodSeen(Struct, frozen=True, gc=False):
    """A pod of a managed Job."""

    namespace: str
    name: str
    uid: str
    job_uid: str
    tenant: str
    phase: str
    node: str = ""
    """Where it runs; empty until it is placed."""
    started: bool = False
    """Whether a container of it has run, init containers and sidecars included."""
    index: str = ""
    """The completion index of an Indexed Job's pod."""
    token: int | None = None
    pool: str | None = None
    lane: str = ""

    @property
    def live(self) -> bool:
        """Whether it may still run: deletionTimestamp and finalizers say nothing."""
        return self.phase not in ("Succeeded", "Failed")


class NodeSeen(Struct, frozen=True):
    """A node, as far as it gives signs of life."""

    name: str
    silent: bool = False
    """Whether its kubelet has not been heard of for a while (Ready is Unknown)."""


class NamespaceSeen(Struct, frozen=True):
    """A namespace, as far as its labels concern us."""

    name: str
    labels: Mapping[str, str] = {}
