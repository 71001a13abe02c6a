"""An index of a layer that was not made for random access."""

from ingot.images.codec.decompressor import Decompressor
from ingot.images.tar import Member


class IndexBuilder:
    """Makes an index while a stream is decoded."""

    def begin(self, codec: str) -> None: ...

    def add(self, output: bytes | memoryview, codec: Decompressor) -> None: ...

    def end(self, member: Member | None) -> None: ...
