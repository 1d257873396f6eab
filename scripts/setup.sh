#!/bin/sh
# Makes .venv: the packages of requirements/development.txt, and Kwicket itself from this folder.
#
#   scripts/setup.sh          make .venv, or bring it up to date; silent if it is
#   scripts/setup.sh --find   print the Python that a new .venv would be made with
#
# Exit code 2: something is missing that can't be made here. A .venv without its stamps, as an
# interrupted set-up leaves it, is made anew.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."

REQUIREMENTS=requirements/development.txt
WAY_OUT='install one (https://www.python.org/downloads or "pyenv install 3.13") or name it with PYTHON=/path/to/python3'

# What a fitting Python answers: its version, and its path outside of any virtual environment.
PROBE='
import ensurepip, sys, venv
if sys.implementation.name == "cpython" and sys.version_info >= (3, 12) and "t" not in sys.abiflags:
    path = getattr(sys, "_base_executable", None) or sys.executable
    print("%d.%d.%d" % tuple(sys.version_info[:3]), path)
'

say() {
    printf 'setup: %s\n' "$1" >&2
}

# The answer of the Python $1; nothing if it is a shim without a Python behind it, too old, not
# CPython, free-threaded (not every package has a wheel for that) or without the venv module.
ask() {
    answer=$("$1" -I -c "$PROBE" 2>/dev/null </dev/null) || return 0
    case $answer in
        3.*' /'*) printf '%s\n' "$answer" ;;
    esac
}

candidates() {
    if [ -n "${PYTHON:-}" ]; then
        printf '%s\n' "$PYTHON"
    fi
    for name in python3.13 python3.12 python3.14 python3 python; do
        printf '%s\n' "$PATH" | tr ':' '\n' | while IFS= read -r folder; do
            printf '%s\n' "$folder/$name"
        done
    done
    pyenv=${PYENV_ROOT:-${HOME:-}/.pyenv}/versions
    for folder in "$pyenv"/*/; do
        basename -- "$folder"
    done | sort -t . -k 1,1nr -k 2,2nr -k 3,3nr | while IFS= read -r version; do
        printf '%s\n' "$pyenv/$version/bin/python3"
    done
}

# The answer of the first candidate that fits.
find_python() {
    candidates | while IFS= read -r candidate; do
        answer=$(ask "$candidate")
        if [ -n "$answer" ]; then
            printf '%s\n' "$answer"
            break
        fi
    done
}

require_python() {
    if [ -n "${PYTHON:-}" ] && [ -z "$(ask "$PYTHON")" ]; then
        say "passing over PYTHON=$PYTHON, which is no CPython 3.12 or newer with its venv module"
    fi
    found=$(find_python)
    if [ -z "$found" ]; then
        say "Kwicket needs CPython 3.12 or newer with its venv module, and neither PATH nor pyenv has one: $WAY_OUT."
        exit 2
    fi
}

# What .venv depends on: its Python, where it lies, and the packages in it.
packages_key() {
    printf '%s\n' "$1" "$(pwd -P)"
    cksum "$REQUIREMENTS"
}

kwicket_key() {
    cksum pyproject.toml
}

# Whether the stamp $1 in .venv says $2.
stamped() {
    [ -f ".venv/$1" ] && [ "$(cat ".venv/$1")" = "$2" ]
}

pip_install() {
    if ! .venv/bin/python -I -m pip install --quiet --no-input --disable-pip-version-check "$@"; then
        say 'pip could not install what Kwicket needs (see above): check that it reaches a package index, then try again.'
        exit 1
    fi
}

has_packages() {
    version=$(ask .venv/bin/python)
    if [ -z "$version" ] || ! stamped packages.stamp "$(packages_key "$version")"; then
        return 1
    fi
    wanted=$([ -z "${PYTHON:-}" ] || ask "$PYTHON")
    [ -z "$wanted" ] || [ "${wanted%% *}" = "${version%% *}" ]
}

make_packages() {
    require_python
    say "making .venv with CPython ${found%% *} (${found#* })"
    rm -rf .venv
    "${found#* }" -I -m venv .venv
    say "installing the packages of $REQUIREMENTS, which takes a minute the first time"
    pip_install --require-hashes --only-binary :all: -r "$REQUIREMENTS"
    packages_key "$(ask .venv/bin/python)" >.venv/packages.stamp
}

make_kwicket() {
    say 'installing Kwicket from this folder'
    pip_install --no-deps --no-build-isolation --editable .
    kwicket_key >.venv/kwicket.stamp
}

# Two set-ups of one folder at once would undo each other's work.
take_turns() {
    exec 9<scripts/setup.sh
    if command -v flock >/dev/null && ! flock -n 9; then
        say 'waiting for another set-up of this folder'
        flock 9
    fi
}

case ${1:-} in
    --find)
        require_python
        printf '%s\n' "${found#* }"
        ;;
    '')
        take_turns
        has_packages || make_packages
        stamped kwicket.stamp "$(kwicket_key)" || make_kwicket
        ;;
    *)
        say 'the only option is --find'
        exit 1
        ;;
esac
