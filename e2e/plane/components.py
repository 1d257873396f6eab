"""The command line of each component of a plane."""

import sys
from pathlib import Path

from e2e.plane import processes
from e2e.plane.build import BIN
from e2e.plane.layout import Layout, NodeKind, State
from e2e.plane.node.network import ADDRESS, LOOPBACK, SERVICES

GATE = "gate"
STORE = "etcd"
SERVER = "kube-apiserver"
CLIENTS = ("kube-controller-manager", "kube-scheduler")
NODES: dict[NodeKind, str] = {"agent": "agent", "real": "node"}
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "deployment-controller",
    "disruption-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "taint-eviction-controller",
    "ttl-after-finished-controller",
    "validatingadmissionpolicy-status-controller",
)
_SOON_LOST = ("--node-monitor-period=1s", "--node-monitor-grace-period=4s")
QPS = ["--kube-api-qps=200", "--kube-api-burst=400"]


def names(kind: NodeKind) -> tuple[str, ...]:
    """The components of a plane with nodes of `kind`, in the order in which they start."""
    gate = (GATE,) if kind == "real" else ()
    return (*gate, STORE, SERVER, *CLIENTS, NODES[kind])


def command(name: str, layout: Layout, state: State) -> list[str]:
    """The argv of the component `name`, one of `names(state.node)`.

    All join the network of a real node, so that the API server reaches Services as pods do.
    """
    if name == GATE:
        return [sys.executable, "-m", "e2e.plane.node.gate", f"--port={state.ports.api}"]
    argv = _command(name, layout, state)
    if state.node == "agent":
        return argv
    network = f"--net=/proc/{processes.pid_of(layout.record(GATE))}/ns/net"
    return ["nsenter", network, "--", *argv]


def _command(name: str, layout: Layout, state: State) -> list[str]:
    emulated = [f"--emulated-version=kube={state.emulate}"] if state.emulate else []
    match name:
        case "etcd":
            return _etcd(layout, state)
        case "kube-apiserver":
            return _server(layout, state) + emulated
        case "kube-controller-manager":
            return _controllers(layout, state) + emulated
        case "kube-scheduler":
            return _scheduler(layout) + emulated
        case "agent":
            return _agent(layout, state)
        case "node":
            return _node(layout)
    raise ValueError(f"no component is called {name}")


def _etcd(layout: Layout, state: State) -> list[str]:
    clients, peers = (f"http://{LOOPBACK}:{p}" for p in (state.ports.etcd, state.ports.peers))
    return [
        _binary("etcd"),
        f"--data-dir={layout.etcd}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",
    ]


def _server(layout: Layout, state: State) -> list[str]:
    keys = layout.secrets
    return [
        _binary(SERVER),
        f"--etcd-servers=http://{LOOPBACK}:{state.ports.etcd}",
        f"--secure-port={state.ports.api}",
        f"--service-cluster-ip-range={SERVICES}",
        f"--cert-dir={keys}",
        f"--tls-cert-file={keys / 'server.crt'}",
        f"--tls-private-key-file={keys / 'server.key'}",
        f"--token-auth-file={layout.tokens}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={keys / 'service-accounts.key'}",
        f"--service-account-signing-key-file={keys / 'service-accounts.key'}",
        "--allow-privileged=true",
        "--profiling=false",
        *(_audit(layout) if state.audited else ()),
        *(_for_real_node(layout) if state.node == "real" else _FOR_AGENT),
    ]


def _audit(layout: Layout) -> tuple[str, ...]:
    """One JSON line for each request that was answered, written before the answer is sent."""
    return f"--audit-policy-file={layout.audit_policy}", f"--audit-log-path={layout.audit}"


_FOR_AGENT = (
    f"--bind-address={LOOPBACK}",
    f"--advertise-address={LOOPBACK}",
    "--endpoint-reconciler-type=none",
    "--authorization-mode=RBAC",
)


def _for_real_node(layout: Layout) -> tuple[str, ...]:
    """Pods reach the server at the node's address, and it speaks to the kubelet."""
    client = layout.secrets / "kubelet-client"
    return (
        f"--advertise-address={ADDRESS}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--kubelet-preferred-address-types=InternalIP",
        f"--kubelet-client-certificate={client}.crt",
        f"--kubelet-client-key={client}.key",
    )


def _controllers(layout: Layout, state: State) -> list[str]:
    name = "kube-controller-manager"
    return [
        _binary(name),
        f"--kubeconfig={layout.kubeconfig(f'system:{name}')}",
        f"--controllers={','.join(_controllers_for(state.node))}",
        "--leader-elect=false",
        "--secure-port=0",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.secrets / 'service-accounts.key'}",
        f"--root-ca-file={layout.secrets / 'ca.crt'}",
        "--concurrent-job-syncs=20",
        *(_SOON_LOST if state.node == "agent" else ()),
        *QPS,
    ]


def _controllers_for(node: NodeKind) -> tuple[str, ...]:
    """Only a real node's pods have addresses that a Service could lead to."""
    return (*CONTROLLERS, "endpointslice-controller") if node == "real" else CONTROLLERS


def _scheduler(layout: Layout) -> list[str]:
    name = "kube-scheduler"
    return [
        _binary(name),
        f"--kubeconfig={layout.kubeconfig(f'system:{name}')}",
        "--leader-elect=false",
        "--secure-port=0",
        *QPS,
    ]


def _agent(layout: Layout, state: State) -> list[str]:
    return [
        sys.executable,
        "-m",
        "e2e.plane.agent",
        f"--kubeconfig={layout.kubeconfig('agent')}",
        f"--dir={layout.root}",
        f"--port={state.ports.agent}",
    ]


def _node(layout: Layout) -> list[str]:
    """Its mounts and processes are its own, and end with it."""
    apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    return [*apart, sys.executable, "-m", "e2e.plane.node", f"--dir={layout.root}"]


def _binary(name: str) -> str:
    return str(Path(BIN / name))
