#!/usr/bin/env bash
# `make demo`: the main job from end to end, on this machine, in a directory that is gone afterwards.
# The steps are at the end, one line each: add one for each thing that Ingot learns.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH

place=$(mktemp -d)
export KUBECONFIG=$place/data/kubeconfig
watcher=

leave() {
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
    ingot down --dir "$place/data" >/dev/null 2>&1 || true
    rm -rf "$place"
}
trap leave EXIT

step() {
    printf '\n$ %s\n' "$*"
    "$@"
}

# Starts `ingot get … --watch` in the background; `seen TEXT` then waits until it has shown TEXT.
watch() {
    printf '\n$ ingot get %s --watch &\n' "$*"
    ingot get "$@" --watch >"$place/watch" &
    watcher=$!
}

seen() {
    local tries=0
    until grep -q -- "$1" "$place/watch"; do
        tries=$((tries + 1))
        if [ "$tries" -gt 200 ]; then
            echo "demo: the watch did not show $1 in 20 s" >&2
            exit 1
        fi
        sleep 0.1
    done
    printf '\n(the watch shows)\n'
    cat "$place/watch"
    kill "$watcher"
    wait "$watcher" 2>/dev/null || true
    watcher=
}

step ingot up --dir "$place/data" --listen 127.0.0.1:0 --detach
step ingot status --dir "$place/data"
watch datavolumes
step ingot apply -f examples/golden-image.yaml
seen my-fedora
step ingot get dataimportcrons,datavolumes --all-namespaces
step ingot describe datavolume my-fedora
step ingot down --dir "$place/data"
