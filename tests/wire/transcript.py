"""What was said in a case, step by step, held against what the real kube-apiserver once said.

The recordings are in `golden/`, one file for each case. `pytest tests/wire --servers kube --record` writes them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wire.normal import Normal

GOLDEN = Path(__file__).with_name("golden")


class Transcript:
    """The steps of one case. Each is compared as it is added, so that a case fails at the first other answer."""

    def __init__(self, case: str, normal: Normal, *, recording: bool) -> None:
        self.path = GOLDEN / f"{case}.json"
        self.normal = normal
        self._recording = recording
        self._steps: list[dict[str, Any]] = []
        known = not recording and self.path.exists()
        self._expected: list[dict[str, Any]] = json.loads(self.path.read_text()) if known else []

    def add(self, request: str, answer: Any) -> None:
        step = {"request": self.normal(request), "answer": self.normal(answer)}
        position = len(self._steps)
        self._steps.append(step)
        if self._recording:
            return
        assert position < len(self._expected), f"step {position + 1} is not recorded in {self.path.name}: {step}"
        expected = self._expected[position]
        assert step["request"] == expected["request"]
        assert step["answer"] == expected["answer"], step["request"]

    def finish(self) -> None:
        """Writes the recording, or checks that nothing of it is missing."""
        if self._recording and self._steps:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self._steps, indent=1, ensure_ascii=False) + "\n")
        elif not self._recording:
            missing = [step["request"] for step in self._expected[len(self._steps) :]]
            assert not missing, f"not done, although {self.path.name} has it"
