"""Where the real Kubernetes of the tests lives: its version, its programs and the cache that holds them."""

from __future__ import annotations

import os
from pathlib import Path

KUBERNETES = "1.32.13"
# 3.5.13 or newer: with an older etcd a watch without resourceVersion fails.
ETCD = "3.5.21"
NAMES = ("etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler", "kubelet")


def cache() -> Path:
    """The cache of everything that Ingot's tests build or install outside the tree."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ingot"


def home() -> Path:
    """The directory of the programs, whether or not it exists."""
    return cache() / f"kube-{KUBERNETES}"


def missing() -> list[str]:
    """Names of the programs that are not there."""
    return [name for name in NAMES if not os.access(home() / name, os.X_OK)]


def binaries() -> Path | None:
    """The directory of the programs, or None unless every one of them is there; `why_not` then says why."""
    return None if missing() else home()


def why_not() -> str:
    """One line for a person: what is missing, and the command that makes it."""
    return f"no {', '.join(missing())} in {home()}: run `make kube`"
