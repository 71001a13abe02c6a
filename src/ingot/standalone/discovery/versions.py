"""Versions: which of a group's is preferred, and which release of Kubernetes this server is like."""

import platform
import re

from ingot.api.object import Object

# The release whose API is served.
KUBERNETES = (1, 32, 13)
_NAME = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?", re.ASCII).fullmatch
_STABILITY = {"alpha": 0, "beta": 1, None: 2}


def preferred_first(names: list[str]) -> list[str]:
    """Versions in Kubernetes' order: v2, v1, v1beta2, v1alpha1, then all other names by the alphabet."""
    usual = [name for name in names if _NAME(name)]
    return sorted(usual, key=_rank, reverse=True) + sorted(set(names) - set(usual))


def _rank(name: str) -> tuple[int, int, int]:
    found = _NAME(name)
    assert found
    return _STABILITY[found[2]], int(found[1]), int(found[3] or 0)


def version_info() -> Object:
    """The answer to /version: the release of Kubernetes whose API this is, and ours."""
    major, minor, patch = KUBERNETES
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": str(major),
        "minor": str(minor),
        "gitVersion": f"v{major}.{minor}.{patch}+ingot",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"linux/{machine}",
    }
