"""What a program needs to be started: its interpreter and its libraries."""

import struct
from dataclasses import dataclass

_IDENTITY = b"\x7fELF\x02\x01"
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRINGS, _RPATH, _RUNPATH = 1, 5, 15, 29
_MOST_HEADERS, _MOST_ENTRIES = 64, 256
# Each place is looked at for each library. Names and places of real programs have a tenth of this.
_MOST_PLACES, _MOST_TEXT, _MOST_TOLD = 16, 255, 4096


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
            interpreter = program[offset : offset + min(length, _MOST_TEXT)].rstrip(b"\0").decode(errors="replace")
        elif kind == _DYNAMIC:
            last = min(offset + length, len(program) - 15, offset + 16 * _MOST_ENTRIES)
            entries = [struct.unpack_from("<qQ", program, at) for at in range(offset, last, 16)]
    strings = next((value for tag, value in entries if tag == _STRINGS), 0)
    # The dynamic section has addresses; the file has them elsewhere.
    loads = [(at, start, length) for kind, at, start, length in headers if kind == _LOAD]
    base = next((at + strings - start for at, start, length in loads if start <= strings < start + length), 0)

    def text(at: int, most: int) -> str:
        """ "" for what is longer."""
        end = program.find(b"\0", base + at, base + at + most + 1)
        return program[base + at : end].decode(errors="replace") if end >= 0 else ""

    libraries = tuple(text(value, _MOST_TEXT) for tag, value in entries if tag == _NEEDED)
    told = ":".join(text(value, _MOST_TOLD) for tag, value in entries if tag in (_RPATH, _RUNPATH))
    paths = [path for path in told.split(":") if 0 < len(path) <= _MOST_TEXT][:_MOST_PLACES]
    return Needs(interpreter, libraries, tuple(_expanded(path, place) for path in paths))


def _expanded(path: str, place: str) -> str:
    """With the program's own place at its beginning, where loaders take it from too."""
    for word in ("${ORIGIN}", "$ORIGIN"):
        if path.startswith(word):
            return place + path.removeprefix(word)
    return path
