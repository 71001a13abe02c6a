"""Helm, for the tests of charts: the one on PATH, else one that `make kube` has built into the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from kube.binaries import cache

# The newest that the oldest Go which Kubernetes is built with can build.
VERSION = "3.17.4"
MODULE = "helm.sh/helm/v3"


def home() -> Path:
    """Where the program is built to, whether or not it is there."""
    return cache() / f"helm-{VERSION}"


def program() -> Path | None:
    """The program, or None; `why_not` then says why."""
    if on_path := shutil.which("helm"):
        return Path(on_path)
    return home() if os.access(home(), os.X_OK) else None


def why_not() -> str:
    """One line for a person: what is missing, and the command that makes it."""
    return f"no helm on PATH and no {home()}: run `make kube`"


class Helm:
    """Helm with directories of its own, on one server."""

    def __init__(self, program: Path, directory: Path, kubeconfig: Path) -> None:
        self._program = program
        places = {f"HELM_{part}_HOME": str(directory / part.lower()) for part in ("CACHE", "CONFIG", "DATA")}
        self._environment = {**os.environ, **places, "KUBECONFIG": str(kubeconfig)}

    def __call__(self, *arguments: str, code: int = 0) -> str:
        """What a command prints, or says of what is wrong if it is to fail."""
        command = [str(self._program), *arguments]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False, timeout=100)
        assert done.returncode == code, f"{' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stderr if code else done.stdout
