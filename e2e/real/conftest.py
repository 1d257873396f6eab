"""What the walk is given: what other tests are, on a cluster that runs images.

The cluster is a plane with a real node, for which this machine must be fit, or the given one, where
it must be said that the image is there. Each fixture of e2e/conftest.py that keeps to a cluster is
made anew here, for this one.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from e2e.conftest import LOGS, Cluster
from e2e.image import kwicket
from e2e.plane import Plane, build
from e2e.plane.given import GivenCluster
from e2e.plane.node import host
from e2e.release import RELEASE
from e2e.tools import Tool

AGAIN = "python -m pytest e2e/real --e2e"


@pytest.fixture(scope="package")
def cluster(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """A plane with a real node, or the given cluster."""
    folder = tmp_path_factory.mktemp("real")
    kubeconfig: Path | None = request.config.getoption("--kubeconfig")
    if kubeconfig is not None:
        if not request.config.getoption("--has-image"):
            pytest.skip(f"load the image on that cluster, then: {AGAIN} --kubeconfig F --has-image")
        with GivenCluster.opened(Path(kubeconfig).expanduser(), folder) as given:
            yield given
        return
    require_real()
    request.config.stash.setdefault(LOGS, []).append(folder)
    plane = Plane.up(folder, node="real")
    yield plane
    plane.down()
    if not request.session.testsfailed:
        shutil.rmtree(folder)


def require_real() -> None:
    """Skip, with the way out, unless a plane can have a real node here, and soon."""
    if said := host.lacking():
        pytest.skip(f"{said} Then: {AGAIN}")
    if not all(binary.is_fresh() for binary in build.NODE_BINARIES):
        pytest.skip(f"first python -m e2e.plane build, which takes minutes; then: {AGAIN}")


@pytest.fixture(scope="package")
def kubeconfig(cluster: Cluster) -> Callable[[str], Path]:
    """The path of a kubeconfig for admin, alice, bob or NAMESPACE/NAME."""
    return cluster.kubeconfig


@pytest.fixture(scope="package")
def kubectl(
    cluster: Cluster, kubeconfig: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Tool:
    """`kubectl("get", "pods", who="alice", stdin=..., check=...)`."""
    return Tool(cluster.bin("kubectl"), kubeconfig, tmp_path_factory.mktemp("kubectl"))


@pytest.fixture(scope="package")
def helm(
    cluster: Cluster, kubeconfig: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Tool:
    """`helm("install", ...)`, in the way of `kubectl`."""
    return Tool(cluster.bin("helm"), kubeconfig, tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="package")
def image(cluster: Cluster, helm: Tool, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image that the chart asks for, which the nodes have: a plane's is built and loaded."""
    documents = yaml.safe_load_all(helm("template", *RELEASE).stdout)
    pods = [d["spec"]["template"]["spec"] for d in documents if d and d["kind"] == "Deployment"]
    [name] = {container["image"] for pod in pods for container in pod["containers"]}
    if isinstance(cluster, Plane):
        archive = tmp_path_factory.mktemp("image") / "kwicket.tar"
        kwicket.write(archive, name)
        cluster.load(archive)
        archive.unlink()
    return str(name)
