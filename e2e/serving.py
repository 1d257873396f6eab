"""The chart's own webhook on a plane: its Service, certificate and registrations, and a process.

A plane routes no Services: the Service names this machine, and the registrations the port of the
process. All else is what the chart makes.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from e2e import commands
from e2e.plane.api import Object
from e2e.release import Kubeconfig
from e2e.tools import Tool
from e2e.webhooks import ACCOUNT, NAMESPACE, TIMEOUT, Pair, Webhook
from kwicket.kube.certificates import Certificate

SYSTEM = ("-n", NAMESPACE)
RELOADED = 60
"""Seconds within which a certificate is taken whose files have changed."""
MAKERS = ("get", "jobs", *SYSTEM, "-l", "app.kubernetes.io/name=kwicket-certificates")
"""The Jobs that make the certificate, and have the API server trust it."""


class ChartWebhook:
    """The webhook of an installed release, as a process; `following` every switch and upgrade."""

    def __init__(self, kubeconfig: Kubeconfig, kubectl: Tool, folder: Path) -> None:
        self._kubeconfig = kubeconfig
        self._kubectl = kubectl
        outside = {"type": "ExternalName", "externalName": "127.0.0.1", "clusterIP": None}
        patch = json.dumps({"spec": outside})
        kubectl("patch", "service/kwicket-webhook", *SYSTEM, "--type=merge", "-p", patch)
        self._run_job(set())
        self._log = folder / "webhook.log"
        self._files = self._pair(folder)
        self._process = self._started(0)
        self.answers = True
        """Whether it is neither down nor hanging."""
        self._redirect()

    def _started(self, port: int) -> Webhook:
        account = self._kubeconfig(f"{NAMESPACE}/{ACCOUNT}")
        return Webhook(account, self._log, self._files, port)

    @contextmanager
    def following(self) -> Iterator[None]:
        """Within it enforcement is switched on or upgraded; runs the Job that comes with that."""
        before = {job["metadata"]["uid"] for job in self._objects(*MAKERS)}
        yield
        self._run_job(before)
        self._redirect()

    @contextmanager
    def down(self) -> Iterator[None]:
        """It is registered, and nobody listens at its port, for the length of the context."""
        self.end()
        self.answers = False
        yield
        self._process = self._started(self._process.port)
        self.answers = True

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """It takes connections and never answers, for the length of the context."""
        self.answers = False
        with self._process.frozen():
            yield
        self.answers = True

    @contextmanager
    def showing(self, wrong: Certificate) -> Iterator[None]:
        """It shows this certificate for the length of the context, and then the right one again.

        Within it no connection is left from before. It takes the right one without a restart.
        """
        right = [file.read_bytes() for file in self._files]
        self.end()
        self._files.certificate.write_bytes(wrong.chain)
        self._files.key.write_bytes(wrong.key)
        self._process = self._started(self._process.port)
        self.answers = False
        yield
        for file, content in zip(self._files, right, strict=True):
            file.write_bytes(content)
        self._process.await_said("certificate taken", RELOADED)
        self.answers = True

    def end(self) -> None:
        """Ends the process. Raises AssertionError if it does not end well."""
        assert self._process.end() == 0

    def _run_job(self, before: set[str]) -> None:
        """A plane's pods can't reach the API server, so their command is run beside it."""
        job = next(job for job in self._objects(*MAKERS) if job["metadata"]["uid"] not in before)
        pod = job["spec"]["template"]["spec"]
        account = self._kubeconfig(f"{NAMESPACE}/{pod['serviceAccountName']}")
        answer = commands.run(account, pod["containers"][0])
        assert answer.returncode == 0, answer.stdout + answer.stderr

    def _pair(self, folder: Path) -> Pair:
        [secret] = self._objects("get", "secrets/kwicket-webhook-certificate", *SYSTEM)
        pair = Pair(folder / "tls.crt", folder / "tls.key")
        for file in pair:
            file.write_bytes(base64.b64decode(secret["data"][file.name]))
        return pair

    def _redirect(self) -> None:
        """As Helm's own change of the port, so that a later upgrade finds no strange hand in it."""
        text = self._kubectl("get", "configmap/kwicket-policies", *SYSTEM, "-o", "json").stdout
        made = yaml.safe_load_all(json.loads(text)["data"]["registrations"])
        for one in (one for one in made if one and "webhooks" in one):
            for hook in one["webhooks"]:
                hook["clientConfig"]["service"]["port"] = self._process.port
                hook["timeoutSeconds"] = TIMEOUT
            self._kubectl(*AS_HELM, stdin=json.dumps(one))

    def _objects(self, *words: str) -> list[Object]:
        listed: Any = json.loads(self._kubectl(*words, "-o", "json").stdout)
        items: list[Object] = listed.get("items", [listed])
        return items


AS_HELM = ("apply", "--server-side", "--force-conflicts", "--field-manager=helm", "-f", "-")
