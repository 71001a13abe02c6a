"""CPU seconds: of what was run and waited for, or of a process that lives."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def of_children() -> float:
    """Of all processes that this one has waited for so far, and of those that they have waited for."""
    found = os.times()
    return found.children_user + found.children_system


def of(process: int) -> float:
    """Of a process and of those that it started and that live."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / _TICKS
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return own + sum(of(int(child)) for child in children)
