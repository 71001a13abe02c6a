#!/usr/bin/env bash
# `make demo`: the main job from end to end, on this machine, in a directory that is gone afterwards.
# The chapters are at the end, one command a line: add one for each thing that Ingot learns.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH

place=$(mktemp -d)
# QEMU runs as a user of its own, who has to get to the disks.
chmod 711 "$place"
data=$place/data
export KUBECONFIG=$data/kubeconfig
watcher=
bold='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
fi

leave() {
    local code=$?
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
    if [ "$code" != 0 ]; then
        printf '\ndemo: failed; the last lines of the log of the server:\n' >&2
        tail -n 20 "$data"/*.log >&2 || true
    fi
    ingot down --dir "$data" --guests >/dev/null 2>&1 || true
    rm -rf "$place"
}
trap leave EXIT

chapter() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }

# Shows a command, and runs it.
step() {
    printf '\n%s$ %s%s\n' "$dim" "$*" "$plain"
    "$@"
}

# Shows a command that is to be refused, and runs it.
refused() {
    if step "$@" 2>&1; then
        echo "demo: this should have been refused" >&2
        exit 1
    fi
}

# Starts `ingot get … --watch` in the background; `seen TEXT` then waits until it has shown TEXT.
watch() {
    printf '\n%s$ ingot get %s --watch &%s\n' "$dim" "$*" "$plain"
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
    printf '\n%s# meanwhile, in the watch%s\n' "$dim" "$plain"
    cat "$place/watch"
    kill "$watcher"
    wait "$watcher" 2>/dev/null || true
    watcher=
}

chapter "Everything that a machine needs, on this machine"
PYTHONPATH=tests python -m guest.image.build >"$place/image"
install -m 644 "$(cat "$place/image")" "$place/small-linux.img"
step ingot up --dir "$data" --listen 127.0.0.1:0 --detach
step ingot status --dir "$data"

chapter "A virtual machine from a disk"
step ingot vm run "$place/small-linux.img" --name web --memory 128Mi --disk empty:64Mi --wait
step ingot vm console web --until "INGOT GUEST READY" --timeout 2m
step ingot vm describe web

chapter "It runs on, whatever becomes of those who started it"
step kill -9 "$(sed 's/.*"pid": *\([0-9]*\).*/\1/' "$data/agent.json")" "$(cat "$data/node/libvirt/run/libvirtd.pid")"
step ingot vm ls
step ingot vm rm web

chapter "The objects of a golden image and of a volume that is cloned from it (their controllers are still to come)"
step cat examples/golden-image.yaml
watch datavolumes
step ingot apply -f examples/golden-image.yaml
seen my-fedora
step ingot wait namespace/golden-images --for "jsonpath={.status.phase}=Active"
step ingot get dataimportcrons,datavolumes --all-namespaces
step ingot describe datavolume my-fedora

chapter "Applying again changes nothing, and a mistake is told by its line"
step ingot apply -f examples/golden-image.yaml
sed 's/importsToKeep: 3/importsToKeep: none/' examples/golden-image.yaml >"$place/mistake.yaml"
refused ingot apply -f "$place/mistake.yaml"

chapter "What was stored outlives the server"
step ingot down --dir "$data"
step ingot up --dir "$data" --listen 127.0.0.1:0 --detach
step ingot get datavolumes
step ingot delete -f examples/golden-image.yaml
step ingot down --dir "$data"

printf '\n%sThat is what works today.%s On your own: ingot up --detach, then ingot vm run DISK --console, ingot get, describe,\n' \
    "$bold" "$plain"
printf 'apply, delete and wait, or kubectl with the kubeconfig that ingot up names. ingot doctor tells what this machine can do.\n'
