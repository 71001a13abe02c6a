#!/usr/bin/env bash
# Sets up everything that Ingot needs on Debian 12: apt packages, then .venv from the lock.
# Safe to run at any time. `make setup` calls it only when one of its inputs has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGES=(ca-certificates python3 python3-venv wrk)
# Debian's interpreter, not whatever comes first on PATH: it is an optimised build, and the one that
# Debian's own Python packages are made for.
PYTHON=${PYTHON:-/usr/bin/python3}

say() { echo "setup: $*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        say "this needs root or sudo: $*"
        exit 1
    fi
}

install_packages() {
    local name missing=()
    if ! command -v dpkg-query >/dev/null; then
        say "this is not a Debian; install by hand what corresponds to: ${PACKAGES[*]}"
        return
    fi
    for name in "${PACKAGES[@]}"; do
        [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null)" = "ii " ] || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# Prints the uv to use: the one on PATH if it runs, else one installed from the lock beside the tree's .venv.
find_uv() {
    if uv --version >/dev/null 2>&1; then
        echo uv
        return
    fi
    if [ ! -x .uv/bin/uv ]; then
        say "installing uv"
        "$PYTHON" -m venv .uv
        .uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tools/uv.lock.txt
    fi
    echo .uv/bin/uv
}

install_project() {
    local uv
    uv=$(find_uv)
    # The machine's own certificates, by the name of newer and older releases of uv: pip trusts them too.
    export UV_SYSTEM_CERTS=1 UV_NATIVE_TLS=1
    export UV_PYTHON_DOWNLOADS=never VIRTUAL_ENV=$PWD/.venv
    [ -x .venv/bin/python ] || "$uv" venv --quiet --python "$PYTHON" .venv
    "$uv" pip sync --quiet --require-hashes requirements.lock
    # The build's own needs are in the lock too, so the build takes nothing from outside it.
    "$uv" pip install --quiet --no-deps --no-build-isolation --editable .
}

install_packages
install_project
say "ready"
