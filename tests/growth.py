"""How the work of a function grows with what it is given. The CPU's time of one thread is measured, never the clock's:
a busy machine makes a test slow, but not wrong.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

# Four times as much to do takes linear work 4 times as long, or up to 6 when it outgrows the CPU's caches, and
# quadratic work 16 times.
_TIMES = 4
_MOST = 9
# Below this nothing can be told from noise; no quadratic work on more than a few thousand things is so quick.
_NOISE_SECONDS = 0.02
_ATTEMPTS = 4


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Asserts that `work(4 * size)` takes not much more than four times as long as `work(size)`.

    The size has to be so large that quadratic work takes more than 20 ms.
    """
    measured = []
    for _ in range(_ATTEMPTS):
        few, many = _seconds(work, size), _seconds(work, _TIMES * size)
        if many < max(_MOST * few, _NOISE_SECONDS):
            return
        measured.append(f"{few:.3f} s and {many:.3f} s")
    raise AssertionError(f"{size} and {_TIMES * size} things took {', then '.join(measured)}")


def _seconds(work: Callable[[int], object], size: int) -> float:
    gc.disable()  # a collection looks at all that earlier tests have left
    try:
        started = time.thread_time()
        work(size)
        return time.thread_time() - started
    finally:
        gc.enable()
