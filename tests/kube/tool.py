"""Programs of others that the tests use: the one on PATH, else one that `make kube` has built into the cache."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from kube.binaries import cache


@dataclass(frozen=True)
class Tool:
    """One program of the Go module `module`, which has it under cmd/."""

    name: str
    module: str
    version: str

    @property
    def home(self) -> Path:
        """Where the program is built to, whether or not it is there."""
        return cache() / f"{self.name}-{self.version}"

    def program(self) -> Path | None:
        """The program, or None; `why_not` then says why."""
        if on_path := shutil.which(self.name):
            return Path(on_path)
        return self.home if os.access(self.home, os.X_OK) else None

    def why_not(self) -> str:
        """One line for a person: what is missing, and the command that makes it."""
        return f"no {self.name} on PATH and no {self.home}: run `make kube`"


# The newest that the oldest Go which Kubernetes is built with can build.
HELM = Tool("helm", "helm.sh/helm/v3", "3.17.4")
VIRTCTL = Tool("virtctl", "kubevirt.io/kubevirt", "1.6.0")
