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
servers=()
bold='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
fi

leave() {
    local code=$?
    [ ${#servers[@]} = 0 ] || kill "${servers[@]}" 2>/dev/null || true
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

# Waits until a file has a line with TEXT.
told() {
    local tries=0
    until grep -qs -- "$2" "$1"; do
        tries=$((tries + 1))
        if [ "$tries" -gt 200 ]; then
            echo "demo: $1 did not say $2 in 20 s" >&2
            exit 1
        fi
        sleep 0.1
    done
}

# The disk of a small Linux that says its version on its console, as a vendor would build it.
disk() {
    PYTHONPATH=tests python -m guest.image.build "$1" >"$place/image"
    qemu-img convert -O qcow2 "$(cat "$place/image")" "$place/small-linux-$1.qcow2"
}

# A registry on loopback, which keeps what it has in our directory. Sets `registry`.
serve_registry() {
    local port
    port=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    registry=127.0.0.1:$port
    cat >"$place/registry.yml" <<EOF
version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: $place/registry}}
http: {addr: "$registry", secret: of-a-demo}
EOF
    docker-registry serve "$place/registry.yml" >"$place/registry.log" 2>&1 &
    servers+=($!)
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        kill -0 "${servers[-1]}" || { cat "$place/registry.log" >&2; exit 1; }
        sleep 0.1
    done
}

# A web server on loopback with one disk. Sets `url`.
serve_disk() {
    mkdir "$place/shop"
    qemu-img convert -O qcow2 -c "$place/small-linux-1.qcow2" "$place/shop/small-linux.qcow2"
    python -u -m http.server --bind 127.0.0.1 --directory "$place/shop" 0 >"$place/shop.log" 2>&1 &
    servers+=($!)
    told "$place/shop.log" "Serving HTTP"
    url=$(sed -n 's/.*(\(http[^)]*\)).*/\1/p' "$place/shop.log")small-linux.qcow2
}

# The digest of what a reference names, as golden images are named by it.
digits() { ingot image inspect "$1" --output json | sed -n 's/^  "digest": "sha256:\([0-9a-f]\{12\}\).*/\1/p'; }

chapter "Everything that a machine needs, on this machine"
step ingot up --dir "$data" --listen 127.0.0.1:0 --detach
step ingot status --dir "$data"

chapter "A vendor pushes a disk to a registry"
disk 1
disk 2
serve_registry
step ingot image push "$place/small-linux-1.qcow2" "$registry/os/small-linux:latest"

chapter "One command makes it a golden image, which every namespace can boot"
step ingot golden add "$registry/os/small-linux:latest" --name small-linux --every 1m
step ingot vm run golden:small-linux --name first --memory 128Mi --wait
step ingot vm console first --until "INGOT GUEST READY" --timeout 2m

chapter "The vendor pushes version 2, and nobody does anything: within a minute or so the image is the new one"
step ingot image push "$place/small-linux-2.qcow2" "$registry/os/small-linux:latest"
newest=small-linux-$(digits "$registry/os/small-linux:latest")
step ingot wait datasource/small-linux -n golden-images --for "jsonpath={.spec.source.pvc.name}=$newest" --timeout 2m
step ingot vm run golden:small-linux --name second --memory 128Mi --wait
step ingot vm console second --until "INGOT GUEST READY" --timeout 2m
echo 'cat /proc/cmdline' | step ingot vm console second --until "ingot.version=2" --timeout 30s
echo 'cat /proc/cmdline' | step ingot vm console first --until "ingot.version=1" --timeout 30s
step ingot golden ls
step ingot golden history small-linux

chapter "Back to version 1 in one command, and on again in another"
step ingot golden rollback small-linux
step ingot golden check small-linux
step ingot golden unpin small-linux

chapter "An ISO of one's own, published to all namespaces; the machines there share one volume of it"
cp "$(cat "$place/image")" "$place/rescue.iso"
step ingot golden publish "$place/rescue.iso"
step ingot vm run empty:16Mi --cdrom golden:rescue --name third --memory 128Mi --wait
step ingot vm console third --until "INGOT GUEST READY" --timeout 2m
step ingot golden ls

chapter "Machines run on, whatever becomes of those who started them"
step kill -9 "$(sed 's/.*"pid": *\([0-9]*\).*/\1/' "$data/agent.json")" "$(cat "$data/node/libvirt/run/libvirtd.pid")"
step ingot vm ls
step ingot vm rm first second third --force

chapter "A disk from a web server becomes a volume, and a copy of it takes a moment"
serve_disk
step ingot volume import "$url" small-linux
step ingot volume clone small-linux copy
step ingot volume ls

chapter "All of this is objects of Kubernetes; a mistake is told by its line"
sed "s|quay.io/containerdisks/fedora:latest|$registry/os/small-linux:latest|" examples/golden-image.yaml >"$place/golden.yaml"
step ingot apply -f "$place/golden.yaml"
step ingot wait dataimportcron/fedora --namespace golden-images --for condition=UpToDate --timeout 1m
step ingot apply -f examples/golden/clone.yaml
step ingot wait datavolume/my-fedora --for "jsonpath={.status.phase}=Succeeded" --timeout 1m
sed 's/importsToKeep: 3/importsToKeep: none/' "$place/golden.yaml" >"$place/mistake.yaml"
refused ingot apply -f "$place/mistake.yaml"

chapter "What was stored outlives the server"
step ingot down --dir "$data"
step ingot up --dir "$data" --listen 127.0.0.1:0 --detach
step ingot golden ls
step ingot golden rm small-linux
step ingot down --dir "$data"

printf '\n%sThat is what works today.%s On your own: ingot up --detach, then ingot golden add REF --name NAME and\n' \
    "$bold" "$plain"
printf 'ingot vm run golden:NAME --console, or kubectl with the kubeconfig that ingot up names. docs/golden-images.md tells how\n'
printf 'it is run in production; ingot doctor tells what this machine can do.\n'
