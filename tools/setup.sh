#!/usr/bin/env bash
# Sets up everything that Ingot needs on Debian 12: apt packages, then .venv from the lock.
# `setup.sh tests` adds the storage servers that the tests start, `setup.sh kube` what a real node needs, `setup.sh
# bench` what a real Debian disk is made with and measured by, and `setup.sh image` what builds the base image.
# Safe to run at any time. `make` calls it only when one of its inputs has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

PACKAGES=(
    ca-certificates python3 python3-venv
    # Python's binding of libvirt is built from source.
    gcc pkg-config python3-dev libvirt-dev
    # Guests, their disks and the pods beside them.
    qemu-system-x86 qemu-utils qemu-block-extra libvirt-daemon libvirt-clients nbdkit libnbd-bin
    e2fsprogs iproute2 runc tini util-linux xorriso
    # Inflates gzip at twice the speed of zlib, from any place that was noted.
    libisal2
    # The guest of the demo: a kernel that apt-get downloads, and these; and the registry that it comes from.
    busybox-static isolinux syslinux-common docker-registry
)
TEST_PACKAGES=(
    # Storage that guests reach, and what drives it.
    ceph-common ceph-mon ceph-osd glusterfs-server libxml2-utils nginx-light radosgw tgt wrk xfsprogs
    # Registries and the tools that people use with them.
    buildah mmdebstrap podman skopeo zstd
    # What watches Ingot, with its rules.
    prometheus
)
# containerd for the pods of a real kubelet, and gRPC for a CSI driver.
KUBE_PACKAGES=(containerd containernetworking-plugins python3-grpcio)
# The base image of container disks.
IMAGE_PACKAGES=(buildah mmdebstrap)
BENCH_PACKAGES=(fio grub-common grub-pc-bin mmdebstrap)
POLICY=/usr/sbin/policy-rc.d
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

# No package may start a server: Ingot and its tests start their own, with their own settings.
forbid_services() {
    if [ -e "$POLICY" ]; then
        as_root mv "$POLICY" "$POLICY.before-ingot"
    fi
    trap allow_services EXIT
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$POLICY" >/dev/null
    as_root chmod 755 "$POLICY"
}

allow_services() {
    trap - EXIT
    if [ -e "$POLICY.before-ingot" ]; then
        as_root mv "$POLICY.before-ingot" "$POLICY"
    else
        as_root rm -f "$POLICY"
    fi
}

# The servers of packages that were installed just now are not to start with the machine, either.
disable_services() {
    local units
    [ -d /run/systemd/system ] || return 0
    units=$(dpkg-query -L "$@" | sed -n 's|^.*/lib/systemd/system/\([^/@]*\.\(service\|socket\|target\)\)$|\1|p' | sort -u)
    [ -z "$units" ] || as_root systemctl disable --quiet $units
}

install_packages() {
    local name missing=()
    if ! command -v dpkg-query >/dev/null; then
        say "this is not a Debian; install by hand what corresponds to: $*"
        return
    fi
    for name in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$name" 2>/dev/null)" = "ii " ] || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing ${missing[*]}"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
    forbid_services
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
    allow_services
    disable_services "${missing[@]}"
}

# Whom QEMU runs as where Ingot runs as root. Debian makes it with a package that brings a libvirtd for the whole
# machine, which Ingot does not need; libvirt itself wants user and group of this name to be there.
add_user() {
    command -v useradd >/dev/null || return 0
    getent group libvirt-qemu >/dev/null || as_root groupadd --system libvirt-qemu
    getent passwd libvirt-qemu >/dev/null || as_root useradd --system --gid libvirt-qemu --no-create-home \
        --home-dir /nonexistent --shell /usr/sbin/nologin libvirt-qemu
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
    # What the packages and the project itself are built with is in the lock too, so no build takes anything from
    # outside it.
    "$uv" pip sync --quiet --compile-bytecode --require-hashes --build-constraints requirements.lock requirements.lock
    "$uv" pip install --quiet --no-deps --no-build-isolation --editable .
    # A command takes a third longer to start while its modules are compiled.
    .venv/bin/python -m compileall -q src
}

case ${1:-} in
"")
    install_packages "${PACKAGES[@]}"
    add_user
    install_project
    ;;
tests)
    install_packages "${TEST_PACKAGES[@]}"
    ;;
kube)
    install_packages "${KUBE_PACKAGES[@]}"
    ;;
bench)
    install_packages "${BENCH_PACKAGES[@]}"
    ;;
image)
    install_packages "${IMAGE_PACKAGES[@]}"
    ;;
*)
    say "unknown: $1; known: tests, kube, bench, image"
    exit 2
    ;;
esac
say "ready"
