#!/usr/bin/env bash
# `make demo`: the main job from end to end, on this machine, in a directory that is gone afterwards.
# A step is one line below: add one for each thing that Ingot learns.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH

place=$(mktemp -d)
export KUBECONFIG=$place/kubeconfig

leave() {
    kill "${watcher:-}" 2>/dev/null || true
    ingot down --dir "$place" >/dev/null 2>&1 || true
    rm -rf "$place"
}
trap leave EXIT

step() {
    printf '\n\033[1m$ %s\033[0m\n' "$*"
    "$@"
}

port=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')

step ingot up --dir "$place" --listen "127.0.0.1:$port" --detach
step ingot status --dir "$place"
step ingot apply -f examples/demo
step ingot get virtualmachines,datavolumes,datasources
step ingot down --dir "$place"
