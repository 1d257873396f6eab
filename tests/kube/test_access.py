"""Access: from a kubeconfig or a service account, or a sentence that says what is missing."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kwicket.kube import access as module
from kwicket.kube.access import AccessError, load_access, pod_namespace
from kwicket.kube.certificates import issue

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: "SERVER"}}]
users: [{name: u, user: {token: secret}}, {name: nobody, user: {}}]
contexts:
  - {name: here, context: {cluster: c, user: u}}
  - {name: anonymous, context: {cluster: c, user: nobody}}
"""


def written(path: Path, text: str) -> Path:
    file = path / "kubeconfig"
    file.write_text(text)
    return file


async def test_a_kubeconfig_says_where_and_who(tmp_path: Path) -> None:
    file = written(tmp_path, KUBECONFIG.replace("SERVER", "http://127.0.0.1:1/"))
    access = await load_access(file)
    assert access.server == "http://127.0.0.1:1"
    assert access.tls is None
    assert await access.headers() == {"Authorization": "Bearer secret"}


async def test_another_context_is_another_identity(tmp_path: Path) -> None:
    file = written(tmp_path, KUBECONFIG.replace("SERVER", "https://127.0.0.1:1"))
    access = await load_access(file, "anonymous")
    assert access.tls is not None
    assert access.verifies
    assert await access.headers() == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just text",
        "[]",
        "- a\n- b",
        "{unclosed",
        "\tkey: value",
        "apiVersion: v1",
        KUBECONFIG.replace("current-context: here", "current-context: there"),
        KUBECONFIG.replace("server:", "certificate-authority: /no/such/file, server:").replace(
            "SERVER", "https://127.0.0.1:1"
        ),
        KUBECONFIG.replace("server:", "certificate-authority-data: '!!!', server:").replace(
            "SERVER", "https://127.0.0.1:1"
        ),
        KUBECONFIG.replace("clusters: [{name: c,", "clusters: [{name: other,"),
        KUBECONFIG.replace("{token: secret}", "5"),
    ],
)
async def test_a_kubeconfig_that_cannot_be_used_is_named(tmp_path: Path, text: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(AccessError, match=f"no access by kubeconfig {file}: "):
        await load_access(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"host-1\n",
        b"[]",
        b"\xff\xfe",
        b"clusters: 5",
        KUBECONFIG.replace("{token: secret}", "5").encode(),
    ],
)
async def test_a_file_that_is_no_kubeconfig_is_called_so(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "hostname"
    file.write_bytes(content)
    with pytest.raises(AccessError) as caught:
        await load_access(file)
    wanted = f"no access by kubeconfig {file}: the file is no valid kubeconfig"
    assert str(caught.value) == wanted
    assert caught.value.__cause__ is not None


@pytest.fixture
def pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the secrets of a pod that we seem to run in."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(module, "SECRETS", tmp_path)
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "ca.crt").write_bytes(issue(["here"], datetime.now(UTC)).authorities)
    (tmp_path / "namespace").write_text("here\n")
    return tmp_path


async def test_a_pod_shows_the_token_that_is_in_its_file_now(
    pod: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 41 of the fault matrix: no clock that can be set decides when it is read."""
    now = [0.0]
    monkeypatch.setattr("kwicket.kube.access.time.monotonic", lambda: now[0])
    access = await load_access(None)
    assert access.server == "https://10.0.0.1:443"
    assert (await access.headers())["Authorization"].strip() == "Bearer first"
    (pod / "token").write_text("second\n")
    now[0] += module.FRESH
    assert await access.headers() == {"Authorization": "Bearer second"}
    assert pod_namespace() == "here"


async def test_a_token_file_of_a_kubeconfig_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not there, or is being written, leaves the last token in use."""
    now, token = [0.0], tmp_path / "token"
    monkeypatch.setattr("kwicket.kube.access.time.monotonic", lambda: now[0])
    token.write_text("first\n")
    text = KUBECONFIG.replace("SERVER", "http://127.0.0.1:1").replace(
        "{token: secret}", "{tokenFile: token}"
    )
    access = await load_access(written(tmp_path, text))
    for content, shown in (("second", "second"), ("", "second"), (None, "second"), ("3", "3")):
        token.unlink() if content is None else token.write_text(content)
        now[0] += module.FRESH
        assert await access.headers() == {"Authorization": f"Bearer {shown}"}
    token.write_text("4")
    assert await access.headers() == {"Authorization": "Bearer 3"}
    for content in ("half\0\0", "two\nlines", "two\r\nlines", "two words", "n\u00f6"):
        token.write_text(content)
        now[0] += module.FRESH
        assert await access.headers() == {"Authorization": "Bearer 3"}
    token.write_text("4\n")
    assert await access.headers() == {"Authorization": "Bearer 4"}


async def test_outside_of_a_cluster_it_says_what_to_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(
        AccessError, match=r"service account: .*; outside of a cluster, pass --kubec"
    ):
        await load_access(None)
