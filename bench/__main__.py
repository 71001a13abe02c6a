"""`make bench`: every promise measured beside its alternative, in one run."""

import platform
import shutil
import sys
import tempfile
from pathlib import Path

from bench import apiserver
from bench.report import table
from kube.binaries import binaries, why_not


def main() -> int:
    if binaries() is None or shutil.which("wrk") is None:
        missing = why_not() if binaries() is None else "wrk is missing: apt-get install wrk"
        print(f"bench: {missing}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="ingot-bench-") as directory:
        rows = apiserver.run(Path(directory))
    print(f"Python {platform.python_version()}, Linux {platform.release()}, {platform.machine()}\n")
    print(table(rows))
    return 0 if all(row.kept is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
