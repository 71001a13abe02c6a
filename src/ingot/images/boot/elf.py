"""What a program needs to be started: its interpreter and its libraries."""

import struct
from dataclasses import dataclass

_IDENTITY = b"\x7fELF\x02\x01"
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRINGS, _RPATH, _RUNPATH = 1, 5, 15, 29
_MOST_HEADERS, _MOST_ENTRIES, _MOST_TEXT = 64, 256, 4096


@dataclass(frozen=True, slots=True)
class Needs:
    """`interpreter`: a path, "" for none. `libraries`: names, which are looked for in `paths` first."""

    interpreter: str = ""
    libraries: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


def needs(program: bytes, place: str) -> Needs:
    """Of a program or library of 64 bits in the directory `place`, or of a script; nothing of anything else."""
    if program.startswith(b"#!"):
        words = program[2:256].split(b"\n", 1)[0].split()
        return Needs(words[0].decode(errors="replace")) if words else Needs()
    if not program.startswith(_IDENTITY):
        return Needs()
    try:
        return _needs(program, place)
    except (struct.error, OverflowError):
        return Needs()


def _needs(program: bytes, place: str) -> Needs:
    table, size, count = struct.unpack_from("<32xQ14xHH", program)
    places = range(table, table + min(count, _MOST_HEADERS) * size, size or 1)
    headers = [struct.unpack_from("<I4xQQ8xQ", program, place) for place in places]
    interpreter = ""
    entries: list[tuple[int, int]] = []
    for kind, offset, _, length in headers:
        if kind == _INTERPRETER:
            interpreter = program[offset : offset + length].rstrip(b"\0").decode(errors="replace")
        elif kind == _DYNAMIC:
            last = min(offset + length, len(program) - 15, offset + 16 * _MOST_ENTRIES)
            entries = [struct.unpack_from("<qQ", program, at) for at in range(offset, last, 16)]
    strings = next((value for tag, value in entries if tag == _STRINGS), 0)
    # The dynamic section has addresses; the file has them elsewhere.
    loads = [(at, start, length) for kind, at, start, length in headers if kind == _LOAD]
    base = next((at + strings - start for at, start, length in loads if start <= strings < start + length), 0)

    def text(at: int) -> str:
        end = program.find(b"\0", base + at)
        return program[base + at : end].decode(errors="replace") if 0 <= end - base - at < _MOST_TEXT else ""

    libraries = tuple(text(value) for tag, value in entries if tag == _NEEDED)
    told = ":".join(text(value) for tag, value in entries if tag in (_RPATH, _RUNPATH))
    paths = (path.replace("${ORIGIN}", place).replace("$ORIGIN", place) for path in told.split(":") if path)
    return Needs(interpreter, libraries, tuple(paths))
