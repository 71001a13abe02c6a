"""Which chunks of an image the cache can hold at once."""

from ingot.images.cache import SHARDS


class Room:
    """The room for one image in a cache that has `size` bytes for chunks. Each shard of a cache has its own."""

    def __init__(self, size: int) -> None:
        self._left = [max(size, 0) // SHARDS] * SHARDS
        self._taken: set[bytes] = set()

    def take(self, digest: bytes, size: int) -> bool:
        """Whether there is room for this chunk beside those that were taken. The same again takes none."""
        if digest in self._taken:
            return True
        if size > self._left[digest[0]]:
            return False
        self._left[digest[0]] -= size
        self._taken.add(digest)
        return True
