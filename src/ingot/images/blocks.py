"""Blocks: the unit in which a volume's disk is sized.

QEMU passes the page cache by, and writes to no file then whose last block is not whole: a guest would not start from
it. No filesystem asks for larger blocks than this for that.
"""

BLOCK = 4096


def whole_blocks(size: int) -> int:
    """The bytes of as many blocks as `size` bytes need."""
    return -(-size // BLOCK) * BLOCK


def blocks_within(size: int) -> int:
    """The bytes of as many blocks as fit into `size` bytes."""
    return size // BLOCK * BLOCK
