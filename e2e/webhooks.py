"""The webhook as a process beside the cluster, as its own service account, and what points to it.

Rights and configurations are those of the chart, but for the address of the process.
"""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import yaml

from e2e.plane import Plane
from e2e.plane.api import Object
from e2e.release import CHART, RELEASE
from e2e.tools import Tool

DEFINITIONS = CHART.parents[1] / "crds"
MUTATING = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
NAMESPACE = "kwicket-system"
ACCOUNT = "kwicket-webhook"
TIMEOUT = 5
"""Seconds that the API server waits for a review: more than the chart's 3, for a busy machine."""
START_SECONDS = 60
END_SECONDS = 15

CONFIGURATIONS = "templates/webhook/configurations.yaml"
RIGHTS = ("templates/webhook/rbac.yaml", "templates/webhook/serviceaccount.yaml")


class Pair(NamedTuple):
    """The files of a certificate and its key."""

    certificate: Path
    key: Path


def pair_of(plane: Plane) -> Pair:
    """With which the plane's own API server serves this machine."""
    keys = plane.folder / "secrets"
    return Pair(keys / "server.crt", keys / "server.key")


class Webhook:
    """One process of `kwicket webhook`; its JSON lines go to `log`."""

    def __init__(self, account: Path, log: Path, pair: Pair, port: int = 0) -> None:
        self._log = log
        files = "--certificate", pair.certificate, "--key", pair.key
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "kwicket", "webhook", "--kubeconfig", account),
                    *(*files, "--listen", f"127.0.0.1:{port}"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.port = self._listening()

    def _listening(self) -> int:
        """The port, once it listens."""
        port: int = self.await_said("answers reviews", START_SECONDS)["port"]
        return port

    def await_said(self, message: str, seconds: float) -> Object:
        """The line of its log with this message, once it is there."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._process.poll() is None:
            for line in self._log.read_text().splitlines():
                if f'"{message}"' in line:
                    said: Object = json.loads(line)
                    return said
            time.sleep(0.02)
        raise AssertionError(f"the webhook does not say {message}: {self._log.read_text()}")

    def end(self) -> int:
        """SIGTERM; its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(END_SECONDS)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It takes connections and never answers, for the length of the context."""
        os.kill(self._process.pid, signal.SIGSTOP)
        yield
        os.kill(self._process.pid, signal.SIGCONT)


class Switch:
    """A webhook that is up or down, on the same port whenever it is up."""

    def __init__(self, plane: Plane, log: Path) -> None:
        self._plane = plane
        self._log = log
        self._port = 0
        self._webhook: Webhook | None = None

    def up(self) -> Webhook:
        """The webhook, started if it is down."""
        if self._webhook is None:
            account = self._plane.kubeconfig(f"{NAMESPACE}/{ACCOUNT}")
            self._webhook = Webhook(account, self._log, pair_of(self._plane), self._port)
            self._port = self._webhook.port
        return self._webhook

    def down(self) -> None:
        """Ends the webhook if it is up. Raises AssertionError if it does not end well."""
        if self._webhook is not None:
            webhook, self._webhook = self._webhook, None
            assert webhook.end() == 0


def registrations(
    plane: Plane, folder: Path, webhook: Webhook, namespaces: Object | None = None
) -> list[Object]:
    """The chart's configurations, which call this process; for Jobs in some namespaces only."""
    made = rendered(plane, folder, CONFIGURATIONS, values="mutation=Webhook")
    authority = base64.b64encode((plane.folder / "secrets" / "ca.crt").read_bytes()).decode()
    for hook in (hook for configuration in made for hook in configuration["webhooks"]):
        url = f"https://127.0.0.1:{webhook.port}{hook['clientConfig']['service']['path']}"
        hook |= {"clientConfig": {"url": url, "caBundle": authority}, "timeoutSeconds": TIMEOUT}
        if namespaces is not None and "objectSelector" in hook:
            hook["namespaceSelector"] = namespaces
    return made


def prepare(plane: Plane, kubectl: Tool, folder: Path) -> None:
    """The definitions, the webhook's service account with its rights, and bob's to start Jobs."""
    kubectl("apply", "-f", str(DEFINITIONS))
    kubectl("wait", "--for=condition=Established", "-f", str(DEFINITIONS), "--timeout=20s")
    kubectl("create", "namespace", NAMESPACE)
    apply(kubectl, rendered(plane, folder, *RIGHTS, values="mutation=Webhook"))
    name = "t-grantors"
    kubectl("create", "clusterrole", name, "--verb=get,patch", "--resource=jobs.batch")
    grants = {"apiGroups": ["kwicket.dev"], "resources": ["grants"], "verbs": ["grant"]}
    more = [{"op": "add", "path": "/rules/-", "value": grants}]
    kubectl("patch", f"clusterrole/{name}", "--type=json", "-p", json.dumps(more))
    kubectl("create", "clusterrolebinding", name, f"--clusterrole={name}", "--user=bob")


def rendered(plane: Plane, folder: Path, *templates: str, values: str = "") -> list[Object]:
    """Templates of the chart, for an API server that has every kind of policy."""
    helm = Tool(plane.bin("helm"), plane.kubeconfig, folder)
    chosen = [word for template in templates for word in ("-s", template)]
    words = (*chosen, "--set", values, "--api-versions", MUTATING)
    text = helm("template", *RELEASE, *words).stdout
    return [document for document in yaml.safe_load_all(text) if document]


def apply(kubectl: Tool, objects: list[Object]) -> None:
    """`kubectl apply` of these objects."""
    document = {"apiVersion": "v1", "kind": "List", "items": objects}
    kubectl("apply", "-f", "-", stdin=json.dumps(document))
