"""The census: every managed Job, pod, namespace and node as last seen. The cluster is the truth."""

from collections.abc import Iterator, Mapping

from kwicket.core.jobs import JobSeen, NamespaceSeen, NodeSeen, PodSeen


class Silent:
    """The names of the nodes that give no sign of life; a node that is not there gives none."""

    def __init__(self, nodes: Mapping[str, NodeSeen]) -> None:
        self._nodes = nodes

    def __contains__(self, name: object) -> bool:
        node = self._nodes.get(name) if isinstance(name, str) else None
        return name != "" and (node is None or node.silent)


class Census:
    """Jobs and pods by UID, so that one deleted and made again under its old name is another one.

    Namespaces and nodes are known by name.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, JobSeen] = {}
        self._former: set[str] = set()
        self._pods: dict[str, dict[str, PodSeen]] = {}
        self._owners: dict[str, str] = {}
        self._namespaces: dict[str, NamespaceSeen] = {}
        self._nodes: dict[str, NodeSeen] = {}
        self._placed: dict[str, dict[str, str]] = {}
        self.silent = Silent(self._nodes)

    def job(self, uid: str) -> JobSeen | None:
        """The Job, None if it is gone."""
        return self._jobs.get(uid)

    def pods(self, job_uid: str) -> tuple[PodSeen, ...]:
        """The pods of a submission, also of one that is gone."""
        return tuple(self._pods.get(job_uid, {}).values())

    def namespace(self, name: str) -> NamespaceSeen | None:
        """The namespace, None if it was not seen yet."""
        return self._namespaces.get(name)

    def jobs(self) -> Iterator[JobSeen]:
        """All Jobs."""
        return iter(self._jobs.values())

    def submissions(self) -> set[str]:
        """The UIDs of all Jobs, and of the vanished ones that left pods behind."""
        return self._jobs.keys() | self._pods.keys()

    def take_job(self, job: JobSeen) -> bool:
        """Notes a Job; False if a newer version of it is known already."""
        known = None if job.uid in self._former else self._jobs.get(job.uid)
        if known is not None and int(known.version) >= int(job.version):
            return False
        self._former.discard(job.uid)
        self._jobs[job.uid] = job
        return True

    def of_former_life(self, uid: str) -> bool:
        """Whether a Job was not seen since the cluster went back, and must be read before a write.

        Its version may be that of another object by now.
        """
        return uid in self._former

    def contradicts(self, job: JobSeen, listed: int) -> bool:
        """Whether a list of this version shows a Job older than it was seen before that version.

        What was seen after it, such as the answer to a write, is newer than the list.
        """
        known = None if job.uid in self._former else self._jobs.get(job.uid)
        return known is not None and int(job.version) < int(known.version) <= listed

    def forget_versions(self) -> None:
        """From now on whatever is seen of a Job is newer than what is known of it."""
        self._former = set(self._jobs)

    def drop_job(self, uid: str) -> None:
        """Notes that a Job is gone."""
        self._former.discard(uid)
        self._jobs.pop(uid, None)

    def take_pod(self, pod: PodSeen) -> set[str]:
        """Notes a pod; the UIDs of the Jobs that it is and was of, as its label can be edited.

        Empty if it says nothing new, as most of a full list does.
        """
        former = self._owners.get(pod.uid, pod.job_uid)
        if self._pods.get(former, {}).get(pod.uid) == pod:
            return set()
        if former != pod.job_uid:
            self._leave(former, pod)
        self._owners[pod.uid] = pod.job_uid
        self._pods.setdefault(pod.job_uid, {})[pod.uid] = pod
        if pod.node and pod.live:
            self._placed.setdefault(pod.node, {})[pod.uid] = pod.job_uid
        else:
            self._unplace(pod)
        return {former, pod.job_uid}

    def drop_pod(self, pod: PodSeen) -> set[str]:
        """Notes that a pod is gone; the UIDs of the Jobs that it was of."""
        former = self._owners.pop(pod.uid, pod.job_uid)
        self._leave(former, pod)
        return {former, pod.job_uid}

    def take_namespace(self, namespace: NamespaceSeen) -> bool:
        """Notes a namespace; False if its labels are as they were."""
        known = self._namespaces.get(namespace.name)
        self._namespaces[namespace.name] = namespace
        return known != namespace

    def drop_namespace(self, name: str) -> None:
        """Notes that a namespace is gone."""
        self._namespaces.pop(name, None)

    def take_node(self, node: NodeSeen) -> bool:
        """Notes a node; False if that says nothing new."""
        known = self._nodes.get(node.name)
        self._nodes[node.name] = node
        return known != node

    def drop_node(self, name: str) -> None:
        """Notes that a node is gone."""
        self._nodes.pop(name, None)

    def silent_nodes(self, job_uid: str) -> set[str]:
        """The nodes of a submission's live pods that give no sign of life."""
        nodes = {pod.node for pod in self.pods(job_uid) if pod.live and pod.node}
        return {name for name in nodes if name in self.silent}

    def on_silent_nodes(self) -> set[str]:
        """The UIDs of the Jobs of which live pods are on nodes that give no sign of life."""
        silent = (pods for node, pods in self._placed.items() if node in self.silent)
        return {uid for pods in silent for uid in pods.values()}

    def placed_on(self, node: str) -> set[str]:
        """The UIDs of the Jobs of which live pods are on a node."""
        return set(self._placed.get(node, {}).values())

    def _leave(self, job_uid: str, pod: PodSeen) -> None:
        pods = self._pods.get(job_uid, {})
        self._unplace(pods.pop(pod.uid, pod))
        if not pods:
            self._pods.pop(job_uid, None)

    def _unplace(self, pod: PodSeen) -> None:
        placed = self._placed.get(pod.node)
        if placed is not None:
            placed.pop(pod.uid, None)
            if not placed:
                del self._placed[pod.node]
