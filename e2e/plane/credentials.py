"""Keys, certificates and the token users of one plane."""

import os
import secrets
import subprocess

from e2e.plane.build import BIN
from e2e.plane.errors import PlaneError
from e2e.plane.layout import Layout

MASTERS = "system:masters"
NODE = "system:node:node-1"
TENANTS = ("alice", "bob")
USERS = {
    "admin": MASTERS,
    "agent": MASTERS,
    "alice": "",
    "bob": "",
    "system:kube-controller-manager": "",
    "system:kube-proxy": "",
    "system:kube-scheduler": "",
    NODE: "system:nodes",
}


def make(layout: Layout) -> dict[str, str]:
    """Write keys, certificates and the token file; return each user's token."""
    folder = str(layout.secrets)
    made = subprocess.run(
        [BIN / "credentials", folder], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        raise PlaneError(f"Keys could not be written to {folder}: {made.stderr.strip()}")
    tokens = {user: secrets.token_urlsafe(24) for user in USERS}
    lines = [f'{tokens[user]},{user},{user},"{group}"' for user, group in USERS.items()]
    handle = os.open(layout.tokens, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write("\n".join(lines) + "\n")
    return tokens
