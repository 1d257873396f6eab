"""The configuration of containerd, its network, kubelet and kube-proxy.

What they write is below the plane's folder, or below what `__main__` mounts for them alone.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import yaml

from e2e.plane.build import BIN
from e2e.plane.credentials import NODE
from e2e.plane.layout import Layout
from e2e.plane.node import cgroups
from e2e.plane.node.network import ADDRESS, BRIDGE, PODS

NAME = NODE.rpartition(":")[2]
SOCKET = "/run/containerd/containerd.sock"
PAUSE = "kwicket.dev/plane/pause:1"
_CONNTRACK = ("tcpEstablishedTimeout", "tcpCloseWaitTimeout")


def containerd(layout: Layout) -> list[str]:
    """Write containerd's configuration and its network's; return its command line."""
    network = layout.node / "network"
    network.mkdir(exist_ok=True)
    (network / "10-plane.conflist").write_text(json.dumps(_network(layout)))
    file = layout.node / "containerd.toml"
    file.write_text(_containerd(layout, network))
    return [str(BIN / "containerd"), f"--config={file}", "--log-level=info"]


def kubelet(layout: Layout) -> list[str]:
    """Write the kubelet's configuration; return its command line."""
    file = _write(layout.node / "kubelet.yaml", _kubelet(layout))
    return [
        str(BIN / "kubelet"),
        f"--config={file}",
        f"--kubeconfig={layout.kubeconfig(NODE)}",
        f"--root-dir={layout.node / 'kubelet'}",
        f"--cert-dir={layout.node / 'kubelet' / 'pki'}",
        f"--hostname-override={NAME}",
        f"--node-ip={ADDRESS}",
    ]


def proxy(layout: Layout) -> list[str]:
    """Write kube-proxy's configuration; return its command line."""
    file = _write(layout.node / "kube-proxy.yaml", _proxy(layout))
    return [str(BIN / "kube-proxy"), f"--config={file}"]


def _containerd(layout: Layout, network: Path) -> str:
    """What is off would write to /opt, or needs what no plane has."""
    return f"""
version = 3
root = '{layout.node / "containerd"}'
state = '/run/containerd'
disabled_plugins = ['io.containerd.internal.v1.opt', 'io.containerd.nri.v1.nri']
[grpc]
address = '{SOCKET}'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '{PAUSE}'
[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['{BIN}']
conf_dir = '{network}'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
BinaryName = '{shutil.which("runc")}'
SystemdCgroup = false
"""


def _network(layout: Layout) -> dict[str, Any]:
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": PODS, "gateway": ADDRESS}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": str(layout.node / "addresses"),
    }
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": addresses,
    }
    return {"cniVersion": "1.0.0", "name": "plane", "plugins": [bridge]}


def _kubelet(layout: Layout) -> dict[str, Any]:
    """Nothing is evicted or collected: this machine's disk and memory are not the node's."""
    never = ("memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available")
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": "0.0.0.0",  # noqa: S104 - of a network of its own
        "authentication": {
            "anonymous": {"enabled": False},
            "x509": {"clientCAFile": str(layout.secrets / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroups.name(layout)}",
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "enforceNodeAllocatable": [],
        "evictionHard": dict.fromkeys(never, "0%"),
        "failCgroupV1": False,
        "failSwapOn": False,
        "imageGCHighThresholdPercent": 100,
        "localStorageCapacityIsolation": False,
        "podLogsDir": str(layout.logs / "pods"),
        "volumePluginDir": str(layout.node / "volume-plugins"),
    }


def _proxy(layout: Layout) -> dict[str, Any]:
    """The limits on connections belong to the whole machine, and are left as they are."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clientConnection": {"kubeconfig": str(layout.kubeconfig("system:kube-proxy"))},
        "clusterCIDR": PODS,
        "hostnameOverride": NAME,
        "conntrack": {"maxPerCore": 0, "min": 0} | dict.fromkeys(_CONNTRACK, "0s"),
    }


def _write(file: Path, content: dict[str, Any]) -> Path:
    file.write_text(yaml.safe_dump(content))
    return file
