"""The Dockerfile, read: it copies what there is, installs by hashes, and ends as the chart runs it.

That its steps make a kwicket that runs is for the build to show; here no image can be built.
"""

import re
import shlex
from fnmatch import fnmatch

import yaml

from support.chart import CHART, ROOT, needs_helm, pod_specs, rendered

DOCKERFILE = (ROOT / "Dockerfile").read_text()
IGNORED = (ROOT / ".dockerignore").read_text().splitlines()

type Step = tuple[str, list[str]]


def stages() -> list[list[Step]]:
    """The instructions of each stage, with their words; continued lines are one."""
    found: list[list[Step]] = []
    for line in DOCKERFILE.replace("\\\n", " ").splitlines():
        if not line or line.startswith("#"):
            continue
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        if found:
            found[-1].append((name, shlex.split(rest)))
    return found


BUILD, FINAL = stages()


def words(stage: list[Step], instruction: str) -> list[list[str]]:
    return [rest for name, rest in stage if name == instruction]


def installs() -> list[list[str]]:
    """The commands that install packages, of all stages."""
    text = [" ".join(rest) for stage in (BUILD, FINAL) for rest in words(stage, "RUN")]
    commands = [part.split() for line in text for part in line.split("&&")]
    return [command for command in commands if {"install", "wheel"} & set(command)]


def sent() -> list[str]:
    """What .dockerignore lets through."""
    assert IGNORED[0] == "*"
    return [line[1:] for line in IGNORED if line.startswith("!")]


def test_what_is_copied_is_there_and_is_sent_to_the_build() -> None:
    sources = [source for rest in words(BUILD, "COPY") for source in rest[:-1]]
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, pattern) for pattern in sent()), source
    assert sorted(sources) == sorted(sent())


def test_packages_come_by_their_hashes_and_nothing_is_compiled() -> None:
    for command in installs():
        if "-r" in command:
            assert {"--require-hashes", "--only-binary"} <= set(command)
            assert (ROOT / command[-1]).exists()
        else:
            assert "--no-deps" in command
            assert {"--no-index", "--no-build-isolation"} & set(command)
    files = [command[-1] for command in installs() if "-r" in command]
    assert files == ["requirements/build.txt", "requirements/runtime.txt"]


def test_both_stages_have_the_python_that_the_project_is_for() -> None:
    [base] = re.findall(r"^ARG PYTHON=python:(\d+\.\d+)-slim", DOCKERFILE, re.M)
    assert [words(stage, "FROM")[0][0] for stage in (BUILD, FINAL)] == ["${PYTHON}"] * 2
    assert f"/usr/local/lib/python{base}/ensurepip" in DOCKERFILE
    assert 'requires-python = ">=3.12"' in (ROOT / "pyproject.toml").read_text()
    assert tuple(map(int, base.split("."))) >= (3, 12)


def test_the_final_stage_takes_kwicket_alone_and_has_no_installer() -> None:
    assert words(FINAL, "COPY") == [["--from=build", "/opt/kwicket", "/opt/kwicket"]]
    [[*run]] = words(FINAL, "RUN")
    assert run[:3] == ["pip", "uninstall", "--yes"]
    assert "--without-pip /opt/kwicket" in DOCKERFILE


def test_it_runs_as_a_user_without_a_name_and_writes_nothing() -> None:
    assert words(FINAL, "USER") == [["65532:65532"]]
    variables = dict(word.split("=", 1) for rest in words(FINAL, "ENV") for word in rest)
    assert variables["PATH"].startswith("/opt/kwicket/bin:")
    assert variables["PYTHONDONTWRITEBYTECODE"] == variables["PYTHONUNBUFFERED"] == "1"


def test_its_command_is_the_one_of_the_package() -> None:
    [[entry]] = words(FINAL, "ENTRYPOINT")
    assert entry.strip("[]") == "kwicket"
    assert 'kwicket = "kwicket.cli:main"' in (ROOT / "pyproject.toml").read_text()


@needs_helm
def test_the_chart_runs_it_as_its_user_by_its_command() -> None:
    [[user]] = words(FINAL, "USER")
    for maker, spec in pod_specs(rendered()):
        context = spec["securityContext"]
        assert f"{context['runAsUser']}:{context['runAsGroup']}" == user, maker
        assert spec["containers"][0]["command"][0] == "kwicket", maker


def test_the_chart_names_the_version_that_is_built() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["appVersion"]}"' in (ROOT / "pyproject.toml").read_text()


def test_what_builds_it_is_what_develops_it() -> None:
    def pinned(name: str) -> set[str]:
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        return set(re.findall(r"^([\w-]+==[\w.]+)", text, re.M))

    assert pinned("build") <= pinned("development")
    assert any(line.startswith("hatchling==") for line in pinned("build"))
