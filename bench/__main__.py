"""`make bench`: every promise measured beside its alternative, in one run."""

import platform
import shutil
import sys
import tempfile
from pathlib import Path

from bench import apiserver, machines
from bench.report import bounds, margins, table
from kube.binaries import binaries, why_not


def _servers() -> bool:
    """The API server beside the real one; whether every promise was kept."""
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as directory:
        rows = apiserver.run(Path(directory))
    print(table(rows), end="\n\n")
    return all(row.kept is not False for row in rows)


def _machines() -> bool:
    """Machines beside plain libvirt; whether every promise was kept."""
    compared, alone = machines.run()
    print(margins(compared), bounds(alone), sep="\n\n", end="\n\n")
    return all(row.kept is not False for row in [*compared, *alone])


BENCHES = {"apiserver": _servers, "machines": _machines}


def main(names: list[str]) -> int:
    unknown = set(names) - BENCHES.keys()
    if unknown:
        print(f"bench: {', '.join(sorted(unknown))} is not one of {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    if binaries() is None or shutil.which("wrk") is None:
        missing = why_not() if binaries() is None else "wrk is missing: apt-get install wrk"
        print(f"bench: {missing}", file=sys.stderr)
        return 1
    print(f"Python {platform.python_version()}, Linux {platform.release()}, {platform.machine()}\n")
    kept = [BENCHES[name]() for name in names or BENCHES]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
