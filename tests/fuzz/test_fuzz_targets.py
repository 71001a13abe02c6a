"""Each fuzz target takes a few thousand inputs, always the same ones. `make fuzz` goes on for as long as one likes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TARGETS = sorted(path.stem for path in Path(__file__).parent.glob("fuzz_*.py"))
BOUNDS = ("-seed=7", "-runs=4000", "-max_total_time=8")


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_breaks_the_parser(name: str, tmp_path: Path) -> None:
    script = "import sys; from fuzz.run import main; main(*sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", script, name, *BOUNDS],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr[-4000:]
