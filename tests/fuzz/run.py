"""`python -m fuzz.run NAME SECONDS`: one parser under atheris, with its code watched for new paths.

A target is a module `fuzz_<noun>` with `one_input(data)`, which raises only for what is a defect. What broke it is
kept in `findings`, outside the tree. The process ends without a chance to clean up: its temporary directory is the
caller's to remove.
"""

from __future__ import annotations

import importlib
import sys

import atheris

from kube.binaries import cache

MOST_MEMORY_MIB = 2048
# One input may take this long: an input of a few KB that takes longer is a finding.
MOST_SECONDS = 10


def main(name: str, *bounds: str) -> None:
    """Runs until the bounds, libFuzzer's own words, are reached, or something is found: then it exits with 77 or so."""
    findings = cache() / "fuzz"
    findings.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=["ingot"]):
        target = importlib.import_module(f"fuzz.{name}")
    options = [f"-rss_limit_mb={MOST_MEMORY_MIB}", f"-timeout={MOST_SECONDS}", f"-artifact_prefix={findings}/{name}-"]
    atheris.Setup([sys.argv[0], *options, *bounds], target.one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], f"-max_total_time={sys.argv[2]}")
