"""Text that no domain can carry: control characters, and what XML has no way to write."""

import re
from collections.abc import Iterator

from ingot.api.kubevirt.causes import invalid
from ingot.api.object import Object
from ingot.api.status import Cause

UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
# What is written to files or handed to processes, and to no domain.
_FREE = frozenset({"userData", "networkData", "userDataBase64", "networkDataBase64", "container", "fields"})


def text_faults(spec: Object, path: str) -> Iterator[Cause]:
    """The strings of the domain and the volumes of an instance's spec that is found at `path`."""
    yield from _walk(spec["domain"], f"{path}.domain")
    yield from _walk(spec.get("volumes") or [], f"{path}.volumes")


def _walk(value: object, path: str) -> Iterator[Cause]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in _FREE:
                yield from _walk(each, f"{path}.{key}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _walk(each, f"{path}[{index}]")
    elif isinstance(value, str) and (found := UNPRINTABLE.search(value)):
        why = f"must not hold control characters, and has U+{ord(found[0]):04X} at place {found.start() + 1}"
        yield invalid(path, value.encode("unicode_escape").decode(), why)
