"""Compressed clusters of a qcow2."""

import threading

from ingot.images.codec.isal import Inflater, address
from ingot.images.fault import ImageFault
from ingot.images.qcow2.header import ZSTD, Header
from ingot.images.zstd_chunked.libzstd import BadFrame, inflate_first


class Unpacker:
    """Unpacks clusters of one image, in several threads."""

    def __init__(self, subject: str, header: Header) -> None:
        self._subject = subject
        self._zstd = header.compression == ZSTD
        self._own = threading.local()

    def unpack(self, packed: memoryview, cluster: memoryview) -> int:
        """Fills all of `cluster`; how many bytes of `packed` that took. Both are writable.

        Raises ImageFault unless it becomes exactly one cluster.
        """
        count = self._unzstd(packed, cluster) if self._zstd else self._inflate(packed, cluster)
        if not count:
            message = f"it has a compressed cluster that does not unpack to {len(cluster)} bytes: it is damaged"
            raise ImageFault(self._subject, "BadCluster", message)
        return count

    def _inflate(self, packed: memoryview, cluster: memoryview) -> int:
        try:
            inflater: Inflater = self._own.inflater
        except AttributeError:
            inflater = self._own.inflater = Inflater()
        return inflater.inflate(address(packed), len(packed), address(cluster), len(cluster))

    def _unzstd(self, packed: memoryview, cluster: memoryview) -> int:
        try:
            count, length = inflate_first(packed, cluster)
        except BadFrame:
            return 0
        return count if length == len(cluster) else 0
