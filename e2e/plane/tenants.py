"""The ordinary users of a plane: each may do in every namespace what ClusterRole `edit` allows."""

from pathlib import Path

from e2e.plane.api import Api, ApiError, Object
from e2e.plane.credentials import TENANTS

BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


async def bind(admin: Path, name: str) -> None:
    """Give the tenants their ClusterRole by the binding `name`, if they have it not yet."""
    async with Api.open(admin) as api:
        try:
            await api.create(BINDINGS, _binding(name))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise


async def unbind(admin: Path, name: str) -> None:
    """Take it from them again."""
    async with Api.open(admin) as api:
        await api.delete(f"{BINDINGS}/{name}")


def _binding(name: str) -> Object:
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user} for user in TENANTS],
    }
