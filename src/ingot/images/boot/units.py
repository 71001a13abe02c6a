"""What systemd starts at a boot: the units that its default target wants, and what these want."""

import re
from collections.abc import Iterator

from ingot.images.boot.ext import Ext

_PLACES = ("/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_FIRST = ("default.target", "sysinit.target", "basic.target")
_SETTING = re.compile(r"^(Wants|Requires|Sockets|ExecStart|ExecStartPre|ExecCondition)[ \t]*=[ \t]*(.*)$", re.MULTILINE)
_EXEC = frozenset(("ExecStart", "ExecStartPre", "ExecCondition"))
_MOST_UNITS, _MOST_TEXT = 1024, 1 << 20


def programs(files: Ext) -> Iterator[str]:
    """The programs of the units, each time after what they are told in was read. Raises Unreadable."""
    waiting, seen = list(_FIRST), set(_FIRST)
    while waiting:
        unit = waiting.pop(0)
        wanted: list[str] = []
        for place in _PLACES:
            wanted += files.names_in(f"{place}/{unit}.wants") + files.names_in(f"{place}/{unit}.requires")
        for name, value in _SETTING.findall(_text(files, unit)):
            if name in _EXEC:
                # Signs before the program say how it is run.
                yield (value.split() or [""])[0].lstrip("@-:+!")
            else:
                wanted += value.split()
        for each in wanted:
            if each not in seen and "%" not in each and len(seen) < _MOST_UNITS:
                seen.add(each)
                waiting.append(each)


def _text(files: Ext, unit: str) -> str:
    """What is told of a unit, by its own file or by that of its template; "" for one that is not there."""
    name, at, instance = unit.partition("@")
    template = f"{name}@.{instance.rpartition('.')[2]}" if at else unit
    for candidate in dict.fromkeys((unit, template)):
        for place in _PLACES:
            node = files.find(f"{place}/{candidate}")
            if node is not None and node.is_file:
                return files.read(node, _MOST_TEXT).decode(errors="replace")
    return ""
