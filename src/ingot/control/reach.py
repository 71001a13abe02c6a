"""How a port of a pod is reached: at the pod's address on a cluster, by the pod's own socket on one machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from ingot.api.object import Object, uid_of
from ingot.host import pod_sockets
from ingot.host.sockets import short


@dataclass(frozen=True, slots=True)
class Line:
    """The way to a port of a pod. `authority` is the host of its URL; it is asked through `socket`, if there is one."""

    authority: str
    socket: Path | None = None

    @contextmanager
    def connector(self) -> Iterator[aiohttp.BaseConnector]:
        """Connections by this line, none of which is kept. Raises OSError when the pod's directory is gone."""
        if self.socket is None:
            yield aiohttp.TCPConnector(force_close=True)
            return
        with short(self.socket) as name:
            yield aiohttp.UnixConnector(name, force_close=True)


@dataclass(frozen=True, slots=True)
class Reach:
    """`kubelet` is the directory of this machine's pods; None where pods have a network, as on a cluster."""

    kubelet: Path | None = None

    def line(self, pod: Object, port: int) -> Line | None:
        """None while the pod has no address."""
        address = (pod.get("status") or {}).get("podIP")
        if not address:
            return None
        host = f"[{address}]" if ":" in address else address
        where = pod_sockets.of_pod(self.kubelet, uid_of(pod), port) if self.kubelet else None
        return Line(f"{host}:{port}", where)
