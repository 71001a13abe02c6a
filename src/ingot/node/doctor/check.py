"""One thing that was looked at on this machine: whether it works, what was found, what would mend it."""

import os
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """OK: it works. WARN: guests can be booted, but something is missing or slower. FAIL: no guest can be booted."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """`found` is what is there, or what is missing and does not work for it; `cure` a command or advice, if any."""

    name: str
    verdict: Verdict
    found: str
    cure: str = ""


def ok(name: str, found: str) -> Check:
    return Check(name, Verdict.OK, found)


def warn(name: str, found: str, cure: str = "") -> Check:
    return Check(name, Verdict.WARN, found, cure)


def fail(name: str, found: str, cure: str = "") -> Check:
    return Check(name, Verdict.FAIL, found, cure)


def is_root() -> bool:
    return os.geteuid() == 0


def as_root(command: str) -> str:
    """A command that only root can run, as the present user would write it."""
    return command if is_root() else f"sudo {command}"


def install(*packages: str) -> str:
    """The command that installs packages of Debian's."""
    return as_root(f"apt-get install {' '.join(packages)}")
