"""How tests with guests are spread over workers of pytest-xdist (`--dist loadscope`)."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

# Files whose tests have nothing in common but the lab, so that several workers may have them.
SPLIT = ("test_matrix.py",)
# These wait for longest: workers that begin with them are not the last to end.
FIRST = ("test_matrix.py::test_source_with_every_copy_mode[gluster]", "test_survival.py", "test_survival_starts.py")


class Spread(LoadScopeScheduling):
    """A file's tests share what is dear to start, so they stay together, but for those of some files."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file.endswith(SPLIT) else file


def place(nodeid: str) -> int:
    """Where a test is in the order in which workers take them."""
    return next((number for number, name in enumerate(FIRST) if name in nodeid), len(FIRST))
