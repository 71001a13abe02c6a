"""`make bench`: every promise measured beside its alternative, in one run."""

import importlib
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from bench import debian
from bench.report import Row, bounds, margins, table
from kube.binaries import binaries, why_not


def _servers() -> bool:
    """The API server beside the real one; whether every promise was kept."""
    from bench import apiserver

    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as directory:
        rows = apiserver.run(Path(directory))
    return _show(rows, "kube-apiserver + etcd")


def _machines() -> bool:
    """Machines beside plain libvirt; whether every promise was kept."""
    from bench import machines

    compared, alone = machines.run()
    print(margins(compared), bounds(alone), sep="\n\n", end="\n\n")
    return all(row.kept for row in compared) and all(row.kept is not False for row in alone)


def _volumes(name: str) -> bool:
    """A promise of volumes that stands by itself; whether it was kept."""
    rows = importlib.import_module(f"bench.{name}").run()
    print(bounds(rows), end="\n\n", flush=True)
    return all(row.kept is not False for row in rows)


def _show(rows: list[Row], theirs: str) -> bool:
    print(table(rows, theirs), end="\n\n", flush=True)
    return all(row.kept is not False for row in rows)


# Of images and imports: the module with `run() -> list[Row]`, and what it is measured beside.
IMAGES = {
    "import_gzip": "skopeo, tar, qemu-img",
    "import_own": "skopeo, tar, qemu-img",
    "qcow2_convert": "qemu-img convert -W",
    "serve": "nbdkit",
    "lazy": "pull, then boot",
    "update": "zstd --patch-from",
    "datavolume": "ingot image pull",
    "delta": "all of it",
    "snapshot": "cp, sync",
}
VOLUMES = ("clone", "fifty", "golden")
SERVERS = {"apiserver": _servers, "machines": _machines}


def _lacking(names: list[str]) -> str:
    """What these benches need and this machine has not; "" when nothing."""
    if "apiserver" in names and (binaries() is None or shutil.which("wrk") is None):
        return why_not() if binaries() is None else "wrk is missing: apt-get install wrk"
    tools = {"serve": ("fio", "nbdcopy", "nbdinfo", "nbdkit"), "update": ("zstd",)}
    absent = [tool for name in names for tool in tools.get(name, ()) if shutil.which(tool) is None]
    if absent:
        return f"{', '.join(absent)} not found: `make bench` installs what is needed"
    if "clone" in names and (shutil.which("mkfs.xfs") is None or os.geteuid() != 0):
        return "no XFS: apt-get install xfsprogs, and be root to mount it"
    return debian.why_not() if set(names) & IMAGES.keys() else ""


def main(names: list[str]) -> int:
    known = [*SERVERS, *IMAGES, *VOLUMES]
    if unknown := set(names) - set(known):
        print(f"bench: {', '.join(sorted(unknown))} is not one of {', '.join(known)}", file=sys.stderr)
        return 2
    names = names or known
    if missing := _lacking(names):
        print(f"bench: {missing}", file=sys.stderr)
        return 1
    print(f"Python {platform.python_version()}, Linux {platform.release()}, {platform.machine()}\n")
    kept = []
    for name in names:
        print(f"## {name}\n", flush=True)
        if name in SERVERS:
            kept.append(SERVERS[name]())
        elif name in VOLUMES:
            kept.append(_volumes(name))
        else:
            kept.append(_show(importlib.import_module(f"bench.{name}").run(), IMAGES[name]))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
