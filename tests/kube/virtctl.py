"""virtctl, for the tests of what it talks to: the one on PATH, else one that `make kube` has built into the cache."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from kube.binaries import cache

VERSION = "1.6.0"
MODULE = "kubevirt.io/kubevirt"


def home() -> Path:
    """Where the program is built to, whether or not it is there."""
    return cache() / f"virtctl-{VERSION}"


def program() -> Path | None:
    """The program, or None; `why_not` then says why."""
    if on_path := shutil.which("virtctl"):
        return Path(on_path)
    return home() if os.access(home(), os.X_OK) else None


def why_not() -> str:
    """One line for a person: what is missing, and the command that makes it."""
    return f"no virtctl on PATH and no {home()}: run `make kube`"
