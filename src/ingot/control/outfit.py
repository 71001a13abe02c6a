"""What Ingot's own pods run in: which image, and as whom."""

from dataclasses import dataclass
from pathlib import Path

from ingot.api.kubevirt.names import LAUNCHER_IMAGE
from ingot.api.object import Object

# The user of KubeVirt's QEMU, whose the disks are going to be.
QEMU_USER = 107


@dataclass(frozen=True, slots=True)
class Outfit:
    """`image` is Ingot's own, as nodes find it. `user`: as whom workers run, and whose group their volumes are given
    to; None for the image's own, as on one machine, where workers are processes of whoever runs Ingot. `kubelet`: where
    this machine keeps its pods, who are reached by sockets there; None on a cluster."""

    image: str = LAUNCHER_IMAGE
    user: int | None = None
    kubelet: Path | None = None

    def security_context(self) -> Object:
        """A worker's pod's part of Pod Security's profile `restricted`: all of it, where there is a user."""
        seccomp = {"seccompProfile": {"type": "RuntimeDefault"}}
        if self.user is None:
            return seccomp
        own = {"runAsUser": self.user, "runAsGroup": self.user, "fsGroup": self.user}
        return {**seccomp, "runAsNonRoot": True, **own}


OF_ONE_MACHINE = Outfit()


def of_cluster(image: str) -> Outfit:
    """Never root: many clusters forbid that, by labels of namespaces or otherwise, and what one worker has written
    another must be able to read."""
    return Outfit(image, QEMU_USER)
