"""Sockets of pods on one machine, where all pods share the network: a port of a pod is a file that is the pod's alone.

An address can be taken from a process: who listens on a port of all addresses has it on each of them. Nobody but the
pod and those who run it come to its directory of sockets.
"""

import os
import socket
from pathlib import Path

from ingot.host import sockets

# The directory, told to processes of pods that have one: they listen there, and on no address.
VARIABLE = "INGOT_SOCKETS"


def directory(kubelet: Path, uid: str) -> Path:
    """Where the pod with that uid listens; `kubelet` is the root of all pods of the machine."""
    return kubelet / "pods" / uid / "sockets"


def of_pod(kubelet: Path, uid: str, port: int) -> Path:
    """The socket that stands for a port of a pod."""
    return directory(kubelet, uid) / str(port)


def listening(port: int) -> socket.socket | None:
    """A socket that listens on a port of the pod that this process is of; None where ports are those of an address.
    Raises OSError."""
    place = os.environ.get(VARIABLE)
    return sockets.listen(Path(place) / str(port)) if place else None
