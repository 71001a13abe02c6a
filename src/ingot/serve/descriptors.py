"""How many files and sockets a process may have open."""

import resource


def as_many_as_allowed() -> None:
    """Raises the limit of this process as far as it may."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
