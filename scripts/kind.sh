#!/bin/sh
# Installs Kwicket on a cluster made by kind, of an image made by Docker, and runs the walk of e2e/real there.
#
#   scripts/kind.sh           make the cluster, walk, and delete it
#   KEEP=1 scripts/kind.sh    leave the cluster, to look at what failed
#
# Exit code 2: something is missing that can't be made here.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."

CLUSTER=kwicket-walk

say() {
    printf 'kind: %s\n' "$1" >&2
}

require() {
    absent=
    for program in docker kind kubectl helm; do
        command -v "$program" >/dev/null || absent="$absent $program"
    done
    if [ -n "$absent" ]; then
        say "not on PATH:$absent. Install what is missing (https://kind.sigs.k8s.io lists it), or use a real node, which needs root and no Docker: see CONTRIBUTING.md."
        exit 2
    fi
    if ! docker info >/dev/null 2>&1; then
        say 'docker does not answer: start it, or make sure that you may use it.'
        exit 2
    fi
    if kind get clusters 2>/dev/null | grep -qx "$CLUSTER"; then
        say "there is a cluster $CLUSTER already: kind delete cluster --name $CLUSTER"
        exit 2
    fi
}

# What the chart asks for when nothing is said.
image() {
    printf 'kwicket:%s\n' "$(sed -n 's/^appVersion: *"\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' charts/kwicket/Chart.yaml)"
}

# However it ends: the cluster goes, also one that was half made.
clean_up() {
    code=$?
    trap - EXIT INT TERM
    if [ -n "${KEEP:-}" ]; then
        say "the cluster is kept: kind export kubeconfig --name $CLUSTER; kind delete cluster --name $CLUSTER"
    else
        kind delete cluster --name "$CLUSTER" --kubeconfig "$folder/kubeconfig" >/dev/null 2>&1 ||
            say "the cluster could not be deleted: kind delete cluster --name $CLUSTER"
    fi
    rm -rf "$folder"
    exit "$code"
}

require
name=$(image)
say "building $name"
docker build --quiet --tag "$name" . >/dev/null
folder=$(mktemp -d)
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
say "making the cluster $CLUSTER"
kind create cluster --name "$CLUSTER" --kubeconfig "$folder/kubeconfig" --wait 120s
kind load docker-image "$name" --name "$CLUSTER"
.venv/bin/python -m pytest -q e2e/real --e2e --kubeconfig "$folder/kubeconfig" --has-image
