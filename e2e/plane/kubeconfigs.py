"""Kubeconfig files: for token users, for minted service account tokens, for impersonated users."""

import base64
import os
import tempfile
from pathlib import Path
from typing import Any

import yaml

from e2e.plane.api import Api, ApiError
from e2e.plane.connection import current
from e2e.plane.errors import PlaneError

TOKEN_SECONDS = 30 * 24 * 3600


def for_token(server: str, ca: Path, token: str, target: Path) -> Path:
    """Write a kubeconfig that speaks to `server`, trusts `ca` and shows `token`."""
    authority = base64.b64encode(ca.read_bytes()).decode()
    cluster = {"server": server, "certificate-authority-data": authority}
    return _write(_document(cluster, {"token": token}), target)


def impersonating(admin: Path, user: str, target: Path) -> Path:
    """Write a kubeconfig that acts as `user` by right of the current user of `admin`."""
    cluster, credentials = current(admin)
    return _write(_document(cluster, {**credentials, "as": user}), target)


async def for_service_account(admin: Path, account: str, target: Path) -> Path:
    """Mint a token (30 days) for the account NAMESPACE/NAME and write its kubeconfig.

    Raises PlaneError naming the account where it does not exist; it is never created.
    """
    namespace, _, name = account.partition("/")
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    spec = {"expirationSeconds": TOKEN_SECONDS}
    async with Api.open(admin) as api:
        try:
            answer = await api.create(path, {"spec": spec})
        except ApiError as error:
            if error.status != 404:
                raise
            message = (
                f"There is no service account {name} in namespace {namespace}: create it first."
            )
            raise PlaneError(message) from error
    cluster, _ = current(admin)
    return _write(_document(cluster, {"token": answer["status"]["token"]}), target)


def _document(cluster: dict[str, Any], user: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "plane", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": "user"}}],
        "current-context": "plane",
    }


def _write(document: dict[str, Any], target: Path) -> Path:
    """At once and whole: a program may be reading the one that was there."""
    handle, fresh = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(handle, "w") as file:
        yaml.safe_dump(document, file, sort_keys=False)
    os.replace(fresh, target)
    return target
