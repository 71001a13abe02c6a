"""The numbers that fields of Kubernetes' kinds have in protobuf: the one thing about them that no schema tells.

They are those of release 1.32, and never change: later releases only add some. The lines of a table are those of
`shapes`, with `field=number`; `+Message=number` is a message whose fields JSON shows in the structure around it.
"""

from functools import cache

from ingot.standalone.builtin import shapes
from ingot.standalone.protobuf.numbers import core, customs, groups, pods, volumes

INLINE = "+"


@cache
def _tables() -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for module in (core, customs, groups, pods, volumes):
        for name, entries in shapes.parse(module.TABLE).items():
            pairs = (entry.split("=") for entry in entries)
            found[name] = {field: int(number) for field, number in pairs}
    return found


def of(name: str) -> dict[str, int]:
    """Field names of a message, by its schema's name, with their numbers; KeyError when there is none."""
    return _tables()[name]
