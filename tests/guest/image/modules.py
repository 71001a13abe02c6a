"""The kernel modules that the guest loads, in an order in which each finds what it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_DEPENDS = re.compile(rb"\0depends=([^\0]*)\0")


def in_order(tree: Path, wanted: Iterable[str]) -> list[Path]:
    """The files of the wanted modules below `tree` and of all that they depend on, each after what it needs."""
    files = {path.stem.replace("-", "_"): path for path in tree.rglob("*.ko")}
    order: dict[str, Path] = {}

    def add(name: str) -> None:
        if name in order or name not in files:  # not a file of its own: built into the kernel
            return
        for needed in _depends(files[name]):
            add(needed)
        order[name] = files[name]

    for name in wanted:
        if name not in files:
            raise FileNotFoundError(f"the kernel below {tree} has no module {name}")
        add(name)
    return list(order.values())


def _depends(file: Path) -> list[str]:
    found = _DEPENDS.search(file.read_bytes())
    return [name.replace("-", "_") for name in found[1].decode().split(",") if name] if found else []
