"""The command line of each component of a plane."""

import sys
from pathlib import Path

from e2e.plane.build import BIN
from e2e.plane.layout import Layout, State

LOOPBACK = "127.0.0.1"
STORE = "etcd"
SERVER = "kube-apiserver"
CLIENTS = ("kube-controller-manager", "kube-scheduler", "agent")
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
QPS = ["--kube-api-qps=200", "--kube-api-burst=400"]


def command(name: str, layout: Layout, state: State) -> list[str]:
    """The argv of the component `name`, one of STORE, SERVER, CLIENTS."""
    emulated = [f"--emulated-version=kube={state.emulate}"] if state.emulate else []
    match name:
        case "etcd":
            return _etcd(layout, state)
        case "kube-apiserver":
            return _server(layout, state) + emulated
        case "kube-controller-manager":
            return _controllers(layout) + emulated
        case "kube-scheduler":
            return _scheduler(layout) + emulated
        case "agent":
            return _agent(layout, state)
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
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={state.ports.api}",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--cert-dir={keys}",
        f"--tls-cert-file={keys / 'server.crt'}",
        f"--tls-private-key-file={keys / 'server.key'}",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={keys / 'service-accounts.key'}",
        f"--service-account-signing-key-file={keys / 'service-accounts.key'}",
        "--allow-privileged=true",
        "--profiling=false",
    ]


def _controllers(layout: Layout) -> list[str]:
    name = "kube-controller-manager"
    return [
        _binary(name),
        f"--kubeconfig={layout.kubeconfig(f'system:{name}')}",
        f"--controllers={','.join(CONTROLLERS)}",
        "--leader-elect=false",
        "--secure-port=0",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={layout.secrets / 'service-accounts.key'}",
        f"--root-ca-file={layout.secrets / 'ca.crt'}",
        "--concurrent-job-syncs=20",
        "--node-monitor-period=1s",
        "--node-monitor-grace-period=4s",
        *QPS,
    ]


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


def _binary(name: str) -> str:
    return str(Path(BIN / name))
