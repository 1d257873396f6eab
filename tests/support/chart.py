"""The chart as Helm renders it, for any cluster and without one."""

import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "kwicket"
HELM = ROOT / "e2e" / "plane" / "bin" / "helm"
NAMESPACE = "kwicket-system"
RELEASE = ("kwicket", str(CHART), "--namespace", NAMESPACE)
MUTATING = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
OLDER, NEWER = ("1.34", "1.35"), ("1.36", "1.37")
"""Versions whose API servers don't serve MutatingAdmissionPolicy, and those that do."""

needs_helm = pytest.mark.skipif(
    not HELM.exists(), reason="helm is not built yet: python -m e2e.plane build"
)

type Object = dict[str, Any]


def helm(*words: str) -> subprocess.CompletedProcess[str]:
    """One run, without any cluster; it may fail."""
    environment = {"KUBECONFIG": "/dev/null", "PATH": "", "HOME": "/nonexistent"}
    command = [str(HELM), *words]
    return subprocess.run(  # noqa: S603 - the helm that this repository builds
        command, env=environment, capture_output=True, text=True, check=False
    )


@cache
def rendered(*values: str, version: str = "1.37") -> tuple[Object, ...]:
    """The objects that `--set VALUE...` gives on a cluster of this version, hooks included."""
    served = ("--api-versions", MUTATING) if version in NEWER else ()
    asked = ("--kube-version", f"{version}.0", *served, *_sets(values))
    answer = helm("template", *RELEASE, *asked)
    assert answer.returncode == 0, answer.stderr
    documents = yaml.load_all(answer.stdout, yaml.CSafeLoader)
    return tuple(document for document in documents if document)


def refusal(*values: str, version: str = "1.37") -> str:
    """What Helm says of values that the chart refuses; empty if it takes them."""
    answer = helm("template", *RELEASE, "--kube-version", f"{version}.0", *_sets(values))
    return answer.stderr if answer.returncode else ""


def notes(*values: str) -> str:
    """What `helm install` says in the end, on a cluster without a Pool."""
    answer = helm("install", *RELEASE, "--dry-run=client", "--hide-secret", *_sets(values))
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.partition("Kwicket 0.")[2]


def named(objects: tuple[Object, ...], kind: str, name: str = "kwicket") -> Object:
    """The object of this kind and name."""
    [found] = (o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name))
    return found


def pod_specs(objects: tuple[Object, ...]) -> Iterator[tuple[str, Object]]:
    """The pods that the objects make: what makes them, and their specs."""
    for made in objects:
        spec = made.get("spec", {})
        template = spec.get("jobTemplate", {}).get("spec", spec).get("template")
        if made["kind"] == "Pod":
            yield f"Pod/{made['metadata']['name']}", spec
        elif template is not None and made["apiVersion"] in ("apps/v1", "batch/v1"):
            yield f"{made['kind']}/{made['metadata']['name']}", template["spec"]


def _sets(values: tuple[str, ...]) -> Iterator[str]:
    for value in values:
        yield from ("--set", value)
