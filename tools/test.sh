#!/usr/bin/env bash
# `make test` after set-up and lint: the suites in order, then a list of what was not run for lack of something.
set -euo pipefail
cd "$(dirname "$0")/.."

not_run=$PWD/.not-run
rm -f "$not_run"

list_not_run() {
    if [ -s "$not_run" ]; then
        printf '\nNot run on this machine, or expected to fail:\n'
        cat "$not_run"
    fi
}
trap list_not_run EXIT

suite() {
    printf '\n== %s\n' "$1"
    shift
    .venv/bin/pytest -q --not-run "$not_run" "$@"
}

suite unit tests/unit -n 2
suite "wire, on Ingot's own server" tests/wire
suite fault tests/fault
# A file's tests share an API server, so they stay together.
suite controllers tests/control -n 2 --dist loadfile
suite "one machine" tests/machine -n 2 --dist loadfile
# Guests are emulated where the CPU cannot run them itself: two keep two cores busy, and a third works while they wait.
suite guests tests/guest -n 3 --dist loadscope --no-loadscope-reorder
suite images tests/images -n 2 --dist loadfile
suite "fuzz targets" tests/fuzz -n 2
suite "all others" tests --ignore=tests/unit --ignore=tests/images --ignore=tests/fuzz --ignore=tests/wire --ignore=tests/fault \
    --ignore=tests/control --ignore=tests/machine --ignore=tests/guest
