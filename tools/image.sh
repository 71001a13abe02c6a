#!/usr/bin/env bash
# Builds images: `image.sh disk|ingot [NAME]`. They go to buildah's storage, from where `buildah push` takes them.
# disk:  the base of container disks (seed 004): `FROM` it, `ADD` a disk to /disk, and a container of that image serves
#        the disk over NBD.
# ingot: what runs on a cluster: controllers, gateway, webhooks, and the pods that fill volumes.
# Debian packages come by this machine's own apt sources, ingot and its Python packages from .venv.
set -euo pipefail
cd "$(dirname "$0")/.."

KIND=${1:-}
NAME=${2:-localhost/ingot/$KIND:latest}
# libstdc++6 is for Python packages in C++, the others for what ingot binds by itself.
PACKAGES=base-files,python3-minimal,libpython3.11-stdlib,libisal2,libssl3,libstdc++6,libzstd1
# Certificates of the web, qemu-nbd for foreign formats, and the shell of launchers.
WORKER_PACKAGES=ca-certificates,qemu-utils,dash,coreutils
# Nobody reads it in a container; it is half of the files.
EXCLUDED=(/usr/share/doc/* /usr/share/man/* /usr/share/locale/* /usr/share/lintian/*)

say() { echo "image: $*" >&2; }

case $KIND in
disk) ;;
ingot) PACKAGES=$PACKAGES,$WORKER_PACKAGES ;;
*)
    say "which? disk or ingot"
    exit 2
    ;;
esac
if [ "$(id -u)" != 0 ]; then
    say "mmdebstrap and chroot need root: run it with sudo"
    exit 1
fi
for program in mmdebstrap buildah; do
    if ! command -v "$program" >/dev/null; then
        say "no $program: apt-get install $program"
        exit 1
    fi
done
if [ "$(.venv/bin/python -c 'import sys; print(sys.version_info[:2])')" != "(3, 11)" ]; then
    say ".venv must be of Debian's Python 3.11: remove it, and run make setup"
    exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

make_root() {
    local sources options=()
    for sources in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
        [ ! -e "$sources" ] || break
    done
    for path in "${EXCLUDED[@]}"; do
        options+=(--dpkgopt="path-exclude=$path")
    done
    say "Debian packages"
    mmdebstrap --quiet --variant=extract --include="$PACKAGES" "${options[@]}" bookworm "$root" "$sources"
    # How this machine gets its packages is nobody's business, and the image gets no more.
    rm -rf "${root:?}"/{dev,etc/apt,etc/dpkg,etc/hostname,etc/resolv.conf,var/cache/apt,var/lib/apt}
    mkdir -m 755 "$root/dev"
    echo 'root:x:0:0:root:/root:/bin/false' >"$root/etc/passwd"
    echo 'qemu:x:107:107:qemu:/tmp:/bin/false' >>"$root/etc/passwd"
    printf 'root:x:0:\nqemu:x:107:\n' >"$root/etc/group"
}

add_ingot() {
    say "ingot and its Python packages"
    .venv/bin/python tools/image_packages.py "$root/usr/lib/python3/dist-packages"
    printf '#!/usr/bin/python3 -I\nfrom ingot.cli.main import main\n\nmain()\n' >"$root/usr/bin/ingot"
    chmod 755 "$root/usr/bin/ingot"
    # Otherwise every start would compile it anew: the user cannot write there.
    chroot "$root" /usr/bin/python3 -m compileall -q /usr/lib/python3 /usr/lib/python3.11
    chroot "$root" /usr/bin/ingot serve --help >/dev/null
}

# What the base of container disks has beside ingot.
add_disk() {
    mkdir -m 755 "$root/disk"
    install -m 755 deploy/disk/serve-disk "$root/usr/bin/serve-disk"
}

# What a cluster needs beside ingot. Packages are only unpacked: what their scripts would have made is made here.
add_worker() {
    local bundle=/etc/ssl/certs/ca-certificates.crt
    find "$root/usr/share/ca-certificates" -name '*.crt' -exec cat {} + >"$root$bundle"
    ln -sf "$bundle" "$root/usr/lib/ssl/cert.pem"
    ln -sf dash "$root/bin/sh"
    chroot "$root" /usr/bin/python3 -c 'import ssl; assert ssl.create_default_context().get_ca_certs()'
    chroot "$root" /usr/bin/qemu-nbd --version >/dev/null
    chroot "$root" /bin/sh -c 'mkfifo --version; cat --version' >/dev/null
}

commit() {
    say "$NAME"
    tar -C "$root" --sort=name --numeric-owner -cf "$work/root.tar" .
    rm -rf "$root"
    buildah bud --quiet --isolation chroot -f "deploy/$KIND/Containerfile" -t "$NAME" "$work"
}

make_root
add_ingot
case $KIND in
disk) add_disk ;;
ingot) add_worker ;;
esac
commit
