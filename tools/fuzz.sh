#!/usr/bin/env bash
# `make fuzz`: each parser of foreign bytes under atheris, which looks for new paths through it, for FUZZ_SECONDS.
set -euo pipefail
cd "$(dirname "$0")/.."

TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
seconds=${FUZZ_SECONDS:-60}
found=0
for target in tests/fuzz/fuzz_*.py; do
    name=$(basename "$target" .py)
    printf '\n== %s, %s s\n' "$name" "$seconds"
    if ! PYTHONPATH=tests .venv/bin/python -m fuzz.run "$name" "$seconds"; then
        found=1
    fi
done
exit "$found"
