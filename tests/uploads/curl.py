"""curl, as people use it, with its answer taken apart."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Answer:
    """`code` is 0 where none came; `exit` is curl's own."""

    code: int
    exit: int
    headers: dict[str, str]
    body: str


def command(url: str, token: str, options: Sequence[str], directory: Path) -> list[str]:
    place = ["--dump-header", str(directory / "headers"), "--output", str(directory / "body")]
    head = [
        "curl",
        "--silent",
        "--show-error",
        "--write-out",
        "%{http_code}",
        "--header",
        f"Authorization: Bearer {token}",
    ]
    return [*head, *place, *options, url]


def curl(url: str, token: str, *options: str, trust: Path | None = None, seconds: float = 60.0) -> Answer:
    """One request; with `trust`, the authority of the server, its certificate is checked."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        checked = ["--cacert", str(trust)] if trust else ["--insecure"]
        ran = subprocess.run(
            command(url, token, [*checked, *options], directory),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        return _answer(ran, directory)


def _answer(ran: subprocess.CompletedProcess[str], directory: Path) -> Answer:
    headers: dict[str, str] = {}
    body = directory / "body"
    if (directory / "headers").exists():
        # What comes before the last empty line but one is of 100 Continue.
        last = (directory / "headers").read_text().strip().split("\n\n")[-1]
        for line in last.splitlines()[1:]:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
    code = int(ran.stdout) if ran.stdout.isdecimal() else 0
    return Answer(code, ran.returncode, headers, body.read_text(errors="replace") if body.exists() else ran.stderr)
