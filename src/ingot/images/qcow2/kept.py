"""Compressed clusters that were unpacked last: a guest reads a cluster in many small pieces."""

import threading
from collections import OrderedDict

# In bytes, but a few clusters in any case.
_MOST = 4 << 20
_LEAST_CLUSTERS = 4


class Kept:
    """Unpacked clusters by their place in the file, for several threads."""

    def __init__(self, cluster_size: int) -> None:
        self._most = max(_LEAST_CLUSTERS, _MOST // cluster_size)
        self._clusters: OrderedDict[int, bytearray] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, host: int) -> bytearray | None:
        with self._lock:
            cluster = self._clusters.get(host)
            if cluster is not None:
                self._clusters.move_to_end(host)
            return cluster

    def put(self, host: int, cluster: bytearray) -> None:
        """Keeps a cluster, which nobody changes any more."""
        with self._lock:
            self._clusters[host] = cluster
            if len(self._clusters) > self._most:
                self._clusters.popitem(last=False)
