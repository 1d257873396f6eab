"""Random Jobs that the API server accepts, every field of a template that Jobs are made of in use.

The same seed gives the same Jobs.
"""

import random
from collections.abc import Iterator
from typing import Any

from e2e.plane.api import Object

OURS = "KWICKET_TOKEN"
CLAIM: Object = {
    "metadata": {"labels": {"kwicket.dev/tenant": "mallory"}},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast",
        "resources": {"requests": {"storage": "1.5Gi"}},
    },
}
HANDLERS: list[Object] = [
    {"exec": {"command": ["true"]}},
    {"tcpSocket": {"port": 80}},
    {"httpGet": {"port": "web", "path": "/~a", "httpHeaders": [{"name": "X-A", "value": "<"}]}},
    {"sleep": {"seconds": 0}},
]
WORDS = ("sum", "träin", "a~b", "x/y", "<&>", '"quoted"', "", " ", "\u2028", "$(KWICKET_TOKEN)")


def population(seed: int, number: int, *, newest: bool = True) -> Iterator[Object]:
    """So many Jobs, with a tenant each; without `newest` all fields are of Kubernetes 1.34."""
    for n in range(number):
        dice = random.Random(f"{seed}-{n}")  # noqa: S311 - no secret
        yield JobMaker(dice, newest=newest).job(f"fuzz-{n}")


class JobMaker:
    """Draws Jobs."""

    def __init__(self, dice: random.Random, *, newest: bool) -> None:
        self._dice = dice
        self._newest = newest
        self._claims = self._maybe(0.3)
        """Whether its pods have devices of their own."""

    def job(self, name: str) -> Object:
        """A whole Job."""
        labels = {"kwicket.dev/tenant": self._one("alice", "bob", "team_1.x", "A")}
        annotations = {
            "note": self._word(),
            "kwicket.dev/token": "1764000000001",
            "kwicket.dev/charged": self._word(),
            "kwicket.dev/A_b.c": "x",
            "other.kwicket.dev/token": "7",
            "kwicket.dev.example/token": "8",
        }
        metadata = {
            "name": name,
            "labels": labels | self._some({"app": "sum", "kwicket.dev/hold": "true"}),
            "annotations": self._some(annotations),
        }
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {k: v for k, v in metadata.items() if v or self._maybe()},
            "spec": self._spec(),
        }

    def _spec(self) -> Object:
        policy = self._maybe(0.2)
        spec = self._some(
            {
                "suspend": self._maybe(),
                "podReplacementPolicy": self._one("Failed", "TerminatingOrFailed"),
                "parallelism": self._dice.randint(0, 4),
                "completions": self._dice.randint(1, 6),
                "backoffLimit": self._dice.randint(0, 9),
                "activeDeadlineSeconds": 600,
                "ttlSecondsAfterFinished": 60,
            }
        )
        if "completions" in spec:
            spec |= self._some({"completionMode": self._one("Indexed", "NonIndexed")})
        indexed = spec.get("completionMode") == "Indexed"
        each = indexed and self._maybe(0.3)
        if indexed:
            done = {"succeededIndexes": "0", "succeededCount": 1}
            spec |= self._some({"successPolicy": {"rules": [self._some(done) or done]}})
        if each:
            spec |= {"backoffLimitPerIndex": 1} | self._some({"maxFailedIndexes": 1})
        if policy:
            spec["podReplacementPolicy"] = "Failed"
            spec["podFailurePolicy"] = {"rules": self._failures(each=each)}
        return spec | {"template": self._template(restarts=not policy and not each)}

    def _failures(self, *, each: bool) -> list[Object]:
        codes = {"operator": "In", "values": [1, 42]}
        disrupted = [{"type": "DisruptionTarget", "status": "True"}]
        return [
            {"action": "FailIndex" if each else "FailJob", "onExitCodes": codes},
            {"action": "Ignore", "onPodConditions": disrupted},
        ]

    def _template(self, *, restarts: bool) -> Object:
        labels = {"app": "sum", "kwicket.dev/tenant": self._one("alice", "mallory"), "x": ""}
        notes = {"n": self._word(), "kwicket.dev/token": "9", "kwicket.dev/A_b.c": self._word()}
        parts = {"labels": self._some(labels), "annotations": self._some(notes)}
        metadata = self._some(parts)
        spec = self._pods() | {
            "restartPolicy": self._one("Never", "OnFailure") if restarts else "Never"
        }
        return ({"metadata": metadata} if metadata or self._maybe() else {}) | {"spec": spec}

    def _pods(self) -> Object:
        firsts = [
            self._container(f"first-{n}", first=True)
            for n in range(self._dice.choice((0, 0, 1, 2)))
        ]
        mains = [self._container(f"main-{n}") for n in range(self._dice.choice((1, 1, 2, 4)))]
        whole = {
            "volumes": self._volumes(),
            "nodeSelector": {"kubernetes.io/os": "linux", "disk": "ssd"},
            "tolerations": [
                {"key": "gpu", "operator": "Exists", "tolerationSeconds": 5, "effect": "NoExecute"}
            ],
            "affinity": self._affinity(),
            "topologySpreadConstraints": [self._spread()],
            "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a", "b"]}],
            "dnsConfig": {"options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}]},
            "imagePullSecrets": [{"name": "one"}, {"name": "two"}],
            "terminationGracePeriodSeconds": 0,
            "securityContext": {"runAsUser": 1000, "supplementalGroups": [1, 2], "fsGroup": 3},
            "schedulingGates": [{"name": "example.com/gate"}],
            "enableServiceLinks": False,
            "shareProcessNamespace": True,
            "serviceAccountName": "default",
            "automountServiceAccountToken": False,
            "activeDeadlineSeconds": 9,
            "readinessGates": [{"conditionType": "example.com/ready"}],
            "overhead": None,
            "priorityClassName": "system-cluster-critical",
            "hostname": "sum",
            "setHostnameAsFQDN": True,
            "preemptionPolicy": "Never",
            "os": {"name": "linux"},
        }
        some = self._some(whole)
        spec: Object = {"containers": mains, "volumes": self._volumes()} | some
        if self._claims:
            template = {"name": "gpus", "resourceClaimTemplateName": "gpus"}
            spec["resourceClaims"] = [template, {"name": "nic", "resourceClaimName": "nic"}]
        return spec | ({"initContainers": firsts} if firsts or self._maybe(0.1) else {})

    def _container(self, name: str, *, first: bool = False) -> Object:
        sidecar = first and self._maybe()
        whole = {
            "command": ["sh", "-c", self._word()],
            "args": [self._word(), self._word()],
            "workingDir": "/work",
            "env": self._env(),
            "envFrom": [{"prefix": "P_", "configMapRef": {"name": "settings", "optional": True}}],
            "ports": [
                {"containerPort": 80, "name": "web"},
                {"containerPort": 80, "protocol": "UDP"},
                {"containerPort": 81, "hostIP": "127.0.0.1"},
            ],
            "resources": {
                "requests": {"cpu": "0.50", "memory": "1024Ki", "example.com/gpu": "1"},
                "limits": {"cpu": "1", "memory": "2e9", "example.com/gpu": "1"},
            }
            | ({"claims": [{"name": "gpus", "request": "one"}]} if self._claims else {}),
            "volumeMounts": [{"name": "scratch", "mountPath": "/a", "subPath": "b"}],
            "securityContext": {
                "capabilities": {"drop": ["ALL"], "add": ["CHOWN"]},
                "privileged": False,
            },
            "imagePullPolicy": "Never",
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "stdin": True,
        }
        if sidecar or not first:
            whole |= {f"{kind}Probe": self._probe() for kind in ("startup", "liveness")}
            whole["resizePolicy"] = [
                {"resourceName": resource, "restartPolicy": "NotRequired"}
                for resource in ("memory", "cpu")
            ]
            whole["readinessProbe"] = self._probe() | {"successThreshold": 2}
            whole["lifecycle"] = {"preStop": self._dice.choice(HANDLERS)}
        made = {"name": name, "image": "example.com/image:1"} | self._some(whole)
        return made | ({"restartPolicy": "Always"} if sidecar else {})

    def _probe(self) -> Object:
        grpc = {"grpc": {"port": 9, "service": "alive"}}
        handler = self._dice.choice([one for one in (*HANDLERS, grpc) if "sleep" not in one])
        times = {"periodSeconds": 7, "initialDelaySeconds": 0, "timeoutSeconds": 2}
        return handler | self._some(times | {"failureThreshold": 9})

    def _env(self) -> list[Object]:
        """Names may come twice, ours among them."""
        field = {
            "fieldRef": {
                "fieldPath": self._one(
                    "metadata.name", "status.podIP", "metadata.annotations['kwicket.dev/token']"
                )
            }
        }
        choices: list[Object] = [
            {"name": "PLAIN", "value": self._word()},
            {"name": "EMPTY"},
            {"name": "EMPTY", "value": ""},
            {"name": "OUT", "value": "/out/$(KWICKET_TOKEN)/$$(HOME)"},
            {"name": OURS, "value": "forged"},
            {"name": OURS, "valueFrom": field},
            {"name": "FIELD", "valueFrom": field},
            {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            {
                "name": "MAP",
                "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k", "optional": True}},
            },
            {
                "name": "CPU",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}},
            },
            {"name": "kwicket_token", "value": "other"},
        ]
        if self._newest:
            key = {"volumeName": "scratch", "path": "env", "key": "K", "optional": True}
            choices.append({"name": "FILE", "valueFrom": {"fileKeyRef": key}})
        return self._dice.choices(choices, k=self._dice.randint(0, 8))

    def _volumes(self) -> list[Object]:
        """The one that containers mount is always there."""
        token = {"serviceAccountToken": {"path": "token", "expirationSeconds": 700}}
        item = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
        others: list[Object] = [
            {"name": "map", "configMap": {"name": "m", "items": [{"key": "k", "path": "p"}]}},
            {"name": "secret", "secret": {"secretName": "s", "defaultMode": 256}},
            {"name": "both", "projected": {"sources": [token, {"downwardAPI": {"items": [item]}}]}},
            {"name": "host", "hostPath": {"path": "/tmp", "type": ""}},  # noqa: S108 - never mounted
            {"name": "claim", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
            {"name": "own", "ephemeral": {"volumeClaimTemplate": CLAIM}},
        ]
        kept = [one for one in others if self._maybe()]
        return [{"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}, *kept]

    def _affinity(self) -> Object:
        match = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}
        weighted = {"weight": 1, "preference": match}
        apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": match}
        return {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]},
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]},
        }

    def _spread(self) -> Object:
        return {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "sum"}},
        }

    def _some(self, fields: dict[str, Any]) -> dict[str, Any]:
        """A random part of them."""
        part = self._dice.random()
        return {key: value for key, value in fields.items() if self._dice.random() < part}

    def _one(self, *choices: str) -> str:
        return self._dice.choice(choices)

    def _word(self) -> str:
        return self._one(*WORDS)

    def _maybe(self, chance: float = 0.5) -> bool:
        return self._dice.random() < chance
