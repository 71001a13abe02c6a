"""Code that may do with files what their owner may, and no more: also where the tests are root's."""

import os
import subprocess
import sys


def run_as_owner(code: str) -> None:
    """Runs Python code in a process of its own; what it raises is an AssertionError here."""
    without_rights = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
    ran = subprocess.run([*without_rights, sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
