#!/usr/bin/env bash
# `make test` after set-up: lint beside the first suites, the others in order, then a list of what was not run for lack of
# something.
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

# Lint takes what the first suites leave of the cores; what it says is shown when it has ended.
said=$(mktemp)
nice make --no-print-directory lint >"$said" 2>&1 &
lint=$!

finish() {
    [ -z "$lint" ] || kill "$lint" 2>/dev/null || true
    rm -f "$said"
    list_not_run
}
trap finish EXIT

suite() {
    printf '\n== %s\n' "$1"
    shift
    .venv/bin/pytest -q --not-run "$not_run" "$@"
}

suite unit tests/unit -n 2
# A file's tests share an API server, so they stay together.
suite "wire, on Ingot's own server, and faults" tests/fault tests/wire -n 2 --dist loadfile
printf '\n== lint\n'
ended=0
wait "$lint" || ended=$?
lint=
cat "$said"
[ "$ended" = 0 ]

# These wait for much, volumes for pauses between tries: more than two work meanwhile.
suite "controllers and one machine" tests/control tests/machine -n 3 --dist loadfile
# Guests are emulated where the CPU cannot run them itself: two keep two cores busy, and a third works while they wait.
suite guests tests/guest -n 3 --dist loadscope --no-loadscope-reorder
suite images tests/images -n 3 --dist loadfile
suite volumes tests/volumes tests/uploads -n 4 --dist loadfile
suite "fuzz targets" tests/fuzz -n 2
suite "all others" tests --ignore=tests/unit --ignore=tests/images --ignore=tests/fuzz --ignore=tests/wire --ignore=tests/fault \
    --ignore=tests/control --ignore=tests/machine --ignore=tests/guest --ignore=tests/volumes --ignore=tests/uploads
