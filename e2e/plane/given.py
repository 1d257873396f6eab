"""A cluster of the user's own, offered to tests in the shape of a plane."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2e.plane import kubeconfigs, lifecycle, tenants
from e2e.plane.api import Api
from e2e.plane.build import BIN
from e2e.plane.credentials import TENANTS
from e2e.plane.errors import MissingError, PlaneError

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class GivenCluster:
    """The cluster of a kubeconfig with cluster-admin rights; files of ours go to `folder`."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self._admin = kubeconfig
        self._folder = folder

    @classmethod
    @contextmanager
    def opened(cls, kubeconfig: Path, folder: Path) -> Iterator["GivenCluster"]:
        """The cluster; for the length of the context the tenants have rights in `default`."""
        lifecycle.run(tenants.bind(kubeconfig))
        yield cls(kubeconfig, folder)
        lifecycle.run(tenants.unbind(kubeconfig))

    def kubeconfig(self, who: str) -> Path:
        """As a plane's: tenants are impersonated, accounts' tokens minted.

        Raises PlaneError where the cluster does not let us.
        """
        target = self._folder / f"{who.replace('/', '_')}.yaml"
        if who == "admin":
            return self._admin
        if who in TENANTS:
            if not lifecycle.run(_may_impersonate(self._admin)):
                raise PlaneError(
                    f"{self._admin} may not impersonate users, so {who} cannot be had."
                )
            return kubeconfigs.impersonating(self._admin, who, target)
        lifecycle.run(kubeconfigs.for_service_account(self._admin, who, target))
        return target

    def bin(self, name: str) -> Path:
        """The program of that name on PATH, else the plane's; MissingError where there is none."""
        found = shutil.which(name)
        if found is None and not (BIN / name).exists():
            way_out = "install it, or run python -m e2e.plane build"
            raise MissingError(f"There is no {name} on PATH: {way_out}.")
        return Path(found or BIN / name)


async def _may_impersonate(admin: Path) -> bool:
    asked = {"verb": "impersonate", "resource": "users"}
    async with Api.open(admin) as api:
        answer = await api.create(REVIEWS, {"spec": {"resourceAttributes": asked}})
    return bool(answer["status"]["allowed"])
