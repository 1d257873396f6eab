"""The ordinary users of a plane: each may do what ClusterRole `edit` allows, in some namespaces.

No right of theirs is for the whole cluster, so that what is refused to them is refused to tenants.
"""

import asyncio
from pathlib import Path

from e2e.plane.api import Api, ApiError, Object
from e2e.plane.credentials import TENANTS

BINDING = "tenants-of-tests"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
STEP_SECONDS = 0.02


async def bind(admin: Path, namespace: str = "default") -> None:
    """Give the tenants their rights in one namespace; return once they have them."""
    async with Api.open(admin) as api:
        await admit(api, namespace)


async def admit(api: Api, namespace: str) -> None:
    """The same, by a client that is there."""
    try:
        await api.create(_bindings(namespace), _binding())
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
    for user in TENANTS:
        await allowed(api, user, namespace, verb="create", group="batch", resource="jobs")


async def allowed(api: Api, user: str, namespace: str, **asked: str) -> None:
    """Return once the user may: the server sees a new binding a moment after it is stored."""
    review = {"spec": {"user": user, "resourceAttributes": {"namespace": namespace} | asked}}
    while not (await api.create(REVIEWS, review))["status"]["allowed"]:  # noqa: ASYNC110 - see above
        await asyncio.sleep(STEP_SECONDS)


async def unbind(admin: Path, namespace: str = "default") -> None:
    """Take it from them again."""
    async with Api.open(admin) as api:
        await api.delete(f"{_bindings(namespace)}/{BINDING}")


def _bindings(namespace: str) -> str:
    return f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"


def _binding() -> Object:
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": BINDING},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user} for user in TENANTS],
    }
