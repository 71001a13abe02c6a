"""Which rights objects of ours demand of whoever writes them: to reach into a node, to clone from another namespace."""

from typing import Final

from ingot.api.cdi import clone_rights
from ingot.api.demand import Asking
from ingot.api.kubevirt import rights
from ingot.api.object import Object
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, MACHINE_SNAPSHOT_CONTENTS

MACHINES: Final = tuple(f"{plural}.kubevirt.io" for plural in rights.MACHINES)
# The kinds that may demand something, as `plural.group`.
KINDS: Final = (
    *MACHINES,
    MACHINE_SNAPSHOT_CONTENTS.qualified,
    DATA_SOURCES.qualified,
    DATA_VOLUMES.qualified,
)


def demands(key: str, new: Object, old: Object | None, namespace: str) -> Asking:
    """What an object of the kind `key`, one of KINDS, demands in `namespace`, beyond what `old` has just so.

    Both are in the stored version of their kind; `old` is None on create.
    """
    if key == DATA_VOLUMES.qualified:
        return (yield from clone_rights.of_volume(new, old, namespace))
    if key == DATA_SOURCES.qualified:
        return (yield from clone_rights.of_data_source(new, old, namespace))
    if key == MACHINE_SNAPSHOT_CONTENTS.qualified:
        # A restore makes of it what it says, in the name of Ingot.
        new, old = _kept(new), None if old is None else _kept(old)
    demand = rights.of_machine(new, old, namespace)
    cloning = yield from clone_rights.of_machine(new, old, namespace)
    return [*([demand] if demand else []), *cloning]


def _kept(content: Object) -> Object:
    """The machine that a snapshot's content holds, or nothing."""
    part = content
    for name in ("spec", "source", "virtualMachine"):
        part = part.get(name) or {}
        if not isinstance(part, dict):
            return {}
    return part
