"""Processes that must not outlive the one that started them."""

import ctypes
import os
import signal

# <linux/prctl.h>
_PR_SET_PDEATHSIG = 1
# Loaded with the module: after a fork, which is where it is used, nothing may be loaded.
_LIBC = ctypes.CDLL(None, use_errno=True)


def end_with(parent: int) -> None:
    """Called by a child, also before it becomes a program: it is killed when `parent` ends, however that ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        # It ended before the line above.
        os.kill(os.getpid(), signal.SIGKILL)
