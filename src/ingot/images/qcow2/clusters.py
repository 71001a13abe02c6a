"""Compressed clusters of a qcow2."""

import threading

from backports.zstd import ZstdDecompressor, ZstdError

from ingot.images.codec.isal import Inflater, address
from ingot.images.fault import ImageFault
from ingot.images.qcow2.header import ZSTD, Header


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
        decompressor = ZstdDecompressor()
        try:
            # One byte more than wanted, to see a cluster that is too long.
            data = decompressor.decompress(packed, max_length=len(cluster) + 1)
        except ZstdError:
            return 0
        if not decompressor.eof or len(data) != len(cluster):
            return 0
        cluster[:] = data
        return len(packed) - len(decompressor.unused_data)
