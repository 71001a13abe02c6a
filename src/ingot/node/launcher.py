"""The launcher pod of an instance, as the node sees it: there, going, or let go."""

import errno
import os
from pathlib import Path

from ingot.api.kubevirt.names import END_PIPE, PRIVATE_VOLUME
from ingot.api.object import Object
from ingot.kube.objects import is_deleting

_OVER = ("Succeeded", "Failed")


def is_going(pod: Object | None) -> bool:
    """Whether the pod is on its way out, so that its guest has to end too."""
    return pod is None or is_deleting(pod) or (pod.get("status") or {}).get("phase") in _OVER


def let_go(kubelet: Path, pod_uid: str) -> None:
    """Ends the launcher, which waits on its pipe until the guest is gone. One that is gone is no error."""
    private = kubelet / "pods" / pod_uid / "volumes" / "kubernetes.io~empty-dir" / PRIVATE_VOLUME
    try:
        # Without anyone at the other end this fails at once, instead of waiting for a launcher that is not there.
        os.close(os.open(private / END_PIPE, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC))
    except OSError as error:
        if error.errno not in (errno.ENXIO, errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
            raise
