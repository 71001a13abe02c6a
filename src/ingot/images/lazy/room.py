"""Which chunks of an image the cache can hold at once."""

from ingot.images.cache import Cache


class Room:
    """The room for one image in a cache. Each shard of a cache has its own."""

    def __init__(self, cache: Cache) -> None:
        self._left = [max(cache.limit - cache.indexes.size(), 0) // cache.shards] * cache.shards
        self._taken: set[bytes] = set()

    def take(self, digest: bytes, size: int) -> bool:
        """Whether there is room for this chunk beside those that were taken. The same again takes none."""
        if digest in self._taken:
            return True
        shard = digest[0] % len(self._left)
        if size > self._left[shard]:
            return False
        self._left[shard] -= size
        self._taken.add(digest)
        return True
