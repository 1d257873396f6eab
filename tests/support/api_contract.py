"""What the fault bench's model and a real API server both do: the overlap that the bench needs.

A class with these tests is collected once for each of the two; it gives `client` and `namespace`.
"""

import json
from typing import Any

from kwicket.kube.client import MERGE_PATCH, Client
from kwicket.ports.objects import Changed, Found, Missing, Refused

GROUP = "/apis/coordination.k8s.io/v1"
BATCH = "/apis/batch/v1"


def lease(namespace: str, name: str, holder: str = "one") -> dict[str, Any]:
    """A Lease: a small object that no controller cares for."""
    kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    metadata = {"name": name, "namespace": namespace}
    return kind | {"metadata": metadata, "spec": {"holderIdentity": holder}}


def job(namespace: str, name: str) -> dict[str, Any]:
    """A suspended Job without a tenant, which no policy cares for."""
    container = {"name": "main", "image": "none", "command": ["true"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"suspend": True, "parallelism": 1, "template": template | {"metadata": {}}},
    }


class ApiContract:
    """Versions, preconditions, pages of one snapshot, and a watch that leaves nothing out."""

    async def test_a_name_is_taken_once(self, client: Client, namespace: str) -> None:
        made = await self.made(client, namespace, "x")
        assert made["metadata"]["uid"]
        assert await client.create(self.leases(namespace), lease(namespace, "x")) == Changed()

    async def test_what_is_not_there_is_missing(self, client: Client, namespace: str) -> None:
        assert await client.get(f"{self.leases(namespace)}/x") == Missing()

    async def test_a_write_at_an_old_version_changes_nothing(
        self, client: Client, namespace: str
    ) -> None:
        first = await self.made(client, namespace, "x")
        path = f"{self.leases(namespace)}/x"
        second = await client.replace(path, first | {"spec": {"holderIdentity": "two"}})
        assert isinstance(second, Found)
        assert version(second.body) > version(first)
        assert await client.replace(path, first | {"spec": {"holderIdentity": "no"}}) == Changed()
        stale = {"metadata": {"resourceVersion": first["metadata"]["resourceVersion"]}}
        assert await client.merge_patch(path, stale | {"spec": {"x": 1}}) == Changed()
        assert await client.get(path) == second

    async def test_a_patch_is_for_one_uid(self, client: Client, namespace: str) -> None:
        await self.made(client, namespace, "x")
        other = {"metadata": {"uid": "another"}, "spec": {"holderIdentity": "two"}}
        answer = await client.merge_patch(f"{self.leases(namespace)}/x", other)
        assert isinstance(answer, Refused)

    async def test_pages_are_of_one_moment(self, client: Client, namespace: str) -> None:
        for name in ("x-1", "x-2"):
            await self.made(client, namespace, name)
        first = await self.page(client, namespace)
        await self.made(client, namespace, "x-3")
        second = await self.page(client, namespace, first["metadata"]["continue"])
        names = [body["metadata"]["name"] for page in (first, second) for body in page["items"]]
        assert names == ["x-1", "x-2"]
        assert version(first) == version(second)
        assert not second["metadata"].get("continue")

    async def test_a_watch_tells_all_that_came_after_a_list(
        self, client: Client, namespace: str
    ) -> None:
        listed = await self.page(client, namespace)
        made = await self.made(client, namespace, "x")
        changed = await client.replace(
            f"{self.leases(namespace)}/x", made | {"spec": {"holderIdentity": "two"}}
        )
        assert isinstance(changed, Found)
        events = await self.watched(client, namespace, listed["metadata"]["resourceVersion"], 2)
        assert [event["type"] for event in events] == ["ADDED", "MODIFIED"]
        assert [version(event["object"]) for event in events] == [
            version(made),
            version(changed.body),
        ]

    async def test_one_patch_starts_a_job_and_stamps_its_template(
        self, client: Client, namespace: str
    ) -> None:
        """And nobody changes the template of one that runs."""
        await client.create(f"{BATCH}/namespaces/{namespace}/jobs", job(namespace, "x"))
        started = await self.stamped(client, namespace, "1")
        assert started.ok
        assert json.loads(started.body)["spec"]["suspend"] is False
        again = await self.stamped(client, namespace, "2")
        assert again.status == 422

    def leases(self, namespace: str) -> str:
        return f"{GROUP}/namespaces/{namespace}/leases"

    async def made(self, client: Client, namespace: str, name: str) -> dict[str, Any]:
        found = await client.create(self.leases(namespace), lease(namespace, name))
        assert isinstance(found, Found)
        return found.body

    async def page(self, client: Client, namespace: str, token: str = "") -> Any:
        params = {"limit": "1"} | ({"continue": token} if token else {})
        answer = await client.call("GET", self.leases(namespace), params=params)
        assert answer.ok, answer.message
        return json.loads(answer.body)

    async def watched(
        self, client: Client, namespace: str, since: str, count: int
    ) -> list[dict[str, Any]]:
        params = {"watch": "1", "resourceVersion": since, "timeoutSeconds": "10"}
        events: list[dict[str, Any]] = []
        async with client.stream(self.leases(namespace), params) as lines:
            async for line in lines:
                events.append(json.loads(line))
                if len(events) == count:
                    break
        return events

    async def stamped(self, client: Client, namespace: str, token: str) -> Any:
        template = {"metadata": {"annotations": {"example.org/token": token}}}
        return await client.call(
            "PATCH",
            f"{BATCH}/namespaces/{namespace}/jobs/x",
            body=json.dumps({"spec": {"suspend": False, "template": template}}).encode(),
            content_type=MERGE_PATCH,
        )


def version(body: Any) -> int:
    """The resourceVersion of an object or a list, whose order means something since 1.35."""
    return int(body["metadata"]["resourceVersion"])
