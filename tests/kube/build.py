"""`make kube`: builds Kubernetes, etcd, Helm and virtctl from Go modules into the cache, once.

The programs of Kubernetes appear in the cache together, by one rename. Exit code 0: they are there. 3: this machine
cannot have them, for it lacks Go or a module proxy. 1: a build failed.
"""

from __future__ import annotations

import fcntl
import sys
import tempfile
import time
from pathlib import Path

from kube import binaries
from kube.golang import Go, GoError, Unavailable, find_go
from kube.modules import ETCD, write_etcd, write_helm, write_kubernetes, write_virtctl
from kube.tool import HELM, VIRTCTL

UNAVAILABLE = 3


def main(arguments: list[str]) -> int:
    """Builds what is missing; with `--check` only tells whether something of Kubernetes is."""
    if _complete() or (binaries.binaries() and arguments == ["--check"]):
        print(f"kube: Kubernetes {binaries.KUBERNETES} and etcd {binaries.ETCD} are in {binaries.home()}")
        return 0
    if arguments == ["--check"]:
        print(f"kube: {binaries.why_not()}", file=sys.stderr)
        return UNAVAILABLE
    binaries.cache().mkdir(parents=True, exist_ok=True)
    with (binaries.cache() / "kube.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            build_all()
        except Unavailable as problem:
            print(f"kube: no real Kubernetes here: {problem}", file=sys.stderr)
            return UNAVAILABLE
        except GoError as problem:
            print(f"kube: {problem}", file=sys.stderr)
            return 1
    return 0


def _complete() -> bool:
    return bool(binaries.binaries() and HELM.program() and VIRTCTL.program())


def build_all() -> None:
    """Builds what is missing and publishes it. A builder that held the lock before may have done it."""
    if _complete():
        return
    go = find_go(binaries.cache())
    print(f"kube: building with {go.version}; this takes some 10 to 20 minutes on 2 cores", flush=True)
    with tempfile.TemporaryDirectory(dir=binaries.cache(), prefix="building-") as scratch:
        place = Path(scratch)
        for tool, write in ((HELM, write_helm), (VIRTCTL, write_virtctl)):
            if not tool.program():
                write(go, place / tool.name, tool.module, tool.version)
                build(go, place / tool.name, f"{tool.module}/cmd/{tool.name}", place / "program")
                (place / "program").rename(tool.home)
        if binaries.binaries():
            return
        made = place / "bin"
        made.mkdir()
        write_etcd(go, place / "etcd", binaries.ETCD)
        write_kubernetes(go, place / "kubernetes", binaries.KUBERNETES)
        build(go, place / "etcd", ETCD, made / "etcd")
        for name in binaries.NAMES:
            if name != "etcd":
                build(go, place / "kubernetes", f"k8s.io/kubernetes/cmd/{name}", made / name)
        publish(made)


def build(go: Go, module: Path, package: str, target: Path) -> None:
    """Builds one program of a wrapper module, stamped with the Kubernetes version it is."""
    major, minor, _ = binaries.KUBERNETES.split(".")
    stamp = {"gitVersion": f"v{binaries.KUBERNETES}", "gitMajor": major, "gitMinor": minor}
    flags = " ".join(f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamp.items())
    began = time.monotonic()
    go.run("build", "-mod=mod", "-trimpath", "-ldflags", f"{flags} -s -w", "-o", str(target), package, cwd=module)
    print(f"kube: built {target.name} in {time.monotonic() - began:.0f} s", flush=True)


def publish(made: Path) -> None:
    """Renames the finished directory into place. An incomplete one there is moved out of the way first."""
    if binaries.home().exists():
        binaries.home().rename(made.parent / "incomplete")
    made.rename(binaries.home())
    print(f"kube: in {binaries.home()}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
