"""Where a saver's disks are copied to: files in claims that the kubelet has mounted for it."""

import contextlib
import os
from pathlib import Path

from ingot.api.object import name_of, namespace_of, uid_of
from ingot.api.resources import VOLUME_CLAIMS
from ingot.disks.claims import bound
from ingot.disks.kubelet import UnknownPlugin, volume_path
from ingot.disks.source.filesystem import DISK
from ingot.disks.source.refusal import patiently, refusal
from ingot.host.descriptor import Descriptor
from ingot.kube.client import Client
from ingot.kube.objects import controller_of
from ingot.node.saver import Saver

_PARTIAL = f".{DISK}.partial"
# As the worker's: for its owner, and the group that the volume is given to.
_MODE = 0o660


class Target:
    """One file in the making. Others may write to the volume, too: nothing is opened by a path that they could bend."""

    def __init__(self, directory: Descriptor, file: Descriptor) -> None:
        self._directory = directory
        self.file = file

    @classmethod
    def begin(cls, root: Path) -> "Target":
        """An empty file in the volume that is mounted at `root`. Raises OSError."""
        directory = Descriptor.open(root, os.O_RDONLY | os.O_DIRECTORY)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_PARTIAL, dir_fd=directory.fileno())
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return cls(directory, Descriptor(os.open(_PARTIAL, flags, 0o600, dir_fd=directory.fileno())))

    def publish(self) -> None:
        """Make the whole file the volume's disk, whose is what the volume is. Raises OSError."""
        number, directory = self.file.fileno(), self._directory.fileno()
        os.fsync(number)
        if os.fstat(number).st_ino != os.stat(_PARTIAL, dir_fd=directory, follow_symlinks=False).st_ino:
            raise FileExistsError(17, "somebody else has put another file in its place", _PARTIAL)
        owner = os.fstat(directory)
        if os.geteuid() == 0:
            os.fchown(number, owner.st_uid, owner.st_gid)
        os.fchmod(number, _MODE)
        os.rename(_PARTIAL, DISK, src_dir_fd=directory, dst_dir_fd=directory)
        os.fsync(directory)


async def begin(volume: str, claimed: str, saver: Saver, kubelet: Path, client: Client) -> Target:
    """The file for a volume in a claim of the content's own, mounted for the pod. Raises DiskFault."""
    content = saver.content
    told = {"name": volume, "persistentVolumeClaim": {"claimName": claimed}}
    claim, pv = await bound(told, namespace_of(content), client)
    if (controller_of(claim) or {}).get("uid") != uid_of(content):
        message = f"{VOLUME_CLAIMS.kind} {claimed!r} was not made for {content['kind']} {name_of(content)!r}: delete it"
        raise refusal(volume, "ClaimTaken", message)
    try:
        root = volume_path(kubelet, saver.uid, pv)
    except UnknownPlugin as error:
        raise refusal(volume, "VolumeUnsupported", str(error)) from None
    try:
        return await patiently(volume, str(root), lambda: Target.begin(root))
    except OSError as error:
        message = f"{VOLUME_CLAIMS.kind} {claimed!r} cannot be written to at {root}: {error.strerror}"
        raise refusal(volume, "VolumeNotMounted", message, retry=2.0) from None
