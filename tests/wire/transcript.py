"""What was said in a case, step by step, held against what the real kube-apiserver once said.

The recordings are in `golden/`, one file for each case. `pytest tests/wire --servers kube --record` writes them anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wire.normal import Normal

GOLDEN = Path(__file__).with_name("golden")
ABSENT = ...
# A value as Go's debugger would show it, with types and addresses of kube-apiserver's memory: no client can read it.
DUMP = re.compile(r"(?:\[\])?\b[a-z]\w*\.[A-Z]\w*(?:\{.*\}|\(nil\))", re.DOTALL)


class Transcript:
    """The steps of one case, each compared with the recording as it is added; `finish` tells what differed."""

    def __init__(self, case: str, normal: Normal, *, recording: bool) -> None:
        self.path = GOLDEN / f"{case}.json"
        self.differences: list[str] = []
        self._normal = normal
        self._recording = recording
        self._steps: list[dict[str, Any]] = []
        known = not recording and self.path.exists()
        self._recorded: list[dict[str, Any]] = json.loads(self.path.read_text()) if known else []

    def add(self, request: str, answer: Any) -> None:
        step = {"request": self._normal(request), "answer": self._normal(answer)}
        at = len(self._steps)
        self._steps.append(step)
        if self._recording:
            return
        recorded = self._recorded[at] if at < len(self._recorded) else None
        found = compare(recorded, step) if recorded else [f"not recorded: {step}"]
        self.differences += [f"step {at + 1}, {step['request']}: {line}" for line in found]

    def finish(self) -> None:
        """Writes the recording, or fails if anything differs from it or is missing."""
        if self._recording and self._steps:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self._steps, indent=1, ensure_ascii=False) + "\n")
        if not self._recording:
            missing = self._recorded[len(self._steps) :]
            self.differences += [f"not done, but recorded: {step['request']}" for step in missing]
        assert not self.differences, self.report()

    def report(self) -> str:
        return "\n".join([f"other than kube-apiserver ({self.path.name}):", *self.differences])


def compare(recorded: Any, told: Any, path: str = "") -> Iterator[str]:
    """Every place where two normal forms differ, in a line each."""
    if isinstance(recorded, dict) and isinstance(told, dict):
        for key in sorted({*recorded, *told}):
            yield from compare(recorded.get(key, ABSENT), told.get(key, ABSENT), f"{path}.{key}")
    elif isinstance(recorded, list) and isinstance(told, list) and len(recorded) == len(told):
        for at, (before, now) in enumerate(zip(recorded, told, strict=True)):
            yield from compare(before, now, f"{path}[{at}]")
    elif isinstance(recorded, str) and isinstance(told, str) and (dump := DUMP.search(recorded)):
        # What is around it must be the same; Ingot's server says the value in words.
        before, after = recorded[: dump.start()], recorded[dump.end() :]
        if not (told.startswith(before) and told.endswith(after)):
            yield f"{path}\n    recorded {recorded!r}\n    told     {told!r}"
    elif recorded != told or type(recorded) is not type(told):
        yield f"{path}\n    recorded {recorded!r}\n    told     {told!r}"
