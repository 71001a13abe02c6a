"""Where one pod keeps its volumes and containers on this machine: a kubelet's layout."""

import os
from dataclasses import dataclass
from pathlib import Path

from ingot.host import pod_sockets
from ingot.host.tree import remove_tree

# As root, guests run as another user who must reach their disks: directories on the way may be passed, not listed.
_PASSABLE = 0o711


@dataclass(frozen=True, slots=True)
class PodDirectory:
    """The directory of the pod with that uid below the kubelet's `root`."""

    root: Path
    uid: str

    @property
    def path(self) -> Path:
        return self.root / "pods" / self.uid

    @property
    def address(self) -> Path:
        """The file that has the pod's address, of one that has its own."""
        return self.path / "address"

    @property
    def sockets(self) -> Path:
        """Where local processes of the pod listen."""
        return pod_sockets.directory(self.root, self.uid)

    def volume(self, plugin: str, name: str) -> Path:
        """Where a volume is that belongs to the pod alone; `plugin` is such as `empty-dir`."""
        return self.path / "volumes" / f"kubernetes.io~{plugin}" / name

    def container(self, name: str) -> Path:
        return self.path / "containers" / name

    def make(self, path: Path) -> None:
        """Makes `path`, which is below the root, and what is missing above it."""
        missing = [path]
        while not missing[-1].exists() and missing[-1] != self.root:
            missing.append(missing[-1].parent)
        for each in reversed(missing):
            each.mkdir(exist_ok=True, parents=each == self.root)
            if os.geteuid() == 0:
                each.chmod(_PASSABLE)

    def remove(self) -> None:
        """Removes all of it; what is mounted there must have been unmounted, or OSError is raised."""
        remove_tree(self.path)


def known(root: Path) -> list[str]:
    """The uids of all pods that have a directory."""
    pods = root / "pods"
    return sorted(entry.name for entry in pods.iterdir()) if pods.exists() else []
