"""What an image says of the order in which its disk is read at a boot: in an annotation of its layer.

It goes where the image goes, and whoever pins the image has it pinned. It is a hint, and may be wrong.
"""

import re
from collections.abc import Iterable, Iterator

from ingot.images.chunk import Chunk
from ingot.images.fault import ImageFault
from ingot.images.qcow2.layout import CLUSTER
from ingot.images.registry.manifest import Descriptor
from ingot.images.zstd_chunked.pieces import Pieces

# Runs of clusters of the file with the disk: FIRST, or FIRST+COUNT, one after the other.
BOOT_ORDER = "io.ingot.boot-order"
_RUNS = re.compile(r"\d{1,12}(\+\d{1,12})?(,\d{1,12}(\+\d{1,12})?)*", re.ASCII)
# Manifests have to stay small; the boot of a Debian has 600 bytes.
_MOST_TEXT = 64 << 10


def annotations(clusters: Iterable[int]) -> dict[str, str]:
    """The annotation for clusters of the file in this order; none where there are no clusters."""
    runs: list[tuple[int, int]] = []
    for cluster in dict.fromkeys(clusters):
        if runs and sum(runs[-1]) == cluster:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((cluster, 1))
    text = ",".join(f"{first}+{count}" if count > 1 else str(first) for first, count in runs)
    # Of an order that is too long the beginning is the best.
    text = text if len(text) <= _MOST_TEXT else text[:_MOST_TEXT].rpartition(",")[0]
    return {BOOT_ORDER: text} if text else {}


def foretold(layer: Descriptor, pieces: Pieces) -> list[Chunk]:
    """The chunks of the file with the disk that a boot will read, each once, in its order. Raises ImageFault."""
    text = layer.note(BOOT_ORDER)
    if not text:
        return []
    if len(text) > _MOST_TEXT or not _RUNS.fullmatch(text):
        message = f"its annotation {BOOT_ORDER} must be FIRST+COUNT,…, and at most {_MOST_TEXT} characters"
        raise ImageFault(str(layer.digest), "BadBootOrder", message)
    indexes = dict.fromkeys(_indexes(text, pieces))
    return [chunk for index in indexes if (chunk := pieces.chunk(index)) is not None]


def _indexes(text: str, pieces: Pieces) -> Iterator[int]:
    """The pieces in which the clusters lie. No more than the file has: anybody may have written the text, and a piece
    of zeros may be as long as the file."""
    left = len(pieces)
    for run in text.split(","):
        first, _, count = run.partition("+")
        start = int(first) * CLUSTER
        end = min(start + int(count or 1) * CLUSTER, pieces.size)
        if start >= end:
            continue
        found = range(pieces.find(start), pieces.find(end - 1) + 1)
        left -= len(found)
        if left < 0:
            return
        yield from found
