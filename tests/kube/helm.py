"""Helm, for the tests of charts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


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
