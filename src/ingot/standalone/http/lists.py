"""Lists, made in pieces as the client takes them: what is not read yet rests in the store, not in a body."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import yaml

from ingot.api.object import Object
from ingot.standalone.http.forms import Former, partial
from ingot.standalone.http.negotiate import JSON, YAML
from ingot.standalone.jsontext import encode
from ingot.standalone.objects.reader import Listing
from ingot.standalone.store.history import Entry

# As many stored bytes make a piece.
PIECE = 128 << 10


def pieces(former: Former, listing: Listing, indented: bool = False) -> Iterator[bytes]:
    """The list in the client's form. `indented` spreads JSON over lines, for people."""
    head = _head(former, listing.metadata())
    batches = _batches(listing.entries)
    if former.form.media == YAML:
        return _yaml(head, (_rows(former, batch) for batch in batches))
    texts = (_joined(former, batch) for batch in batches)
    return _lines(head, texts) if indented else _json(head, texts)


def _head(former: Former, meta: Object) -> Object:
    """The list without its items; the last field is theirs."""
    if former.form.kind == "Table":
        return former.table([], meta)
    if former.form.kind == "PartialObjectMetadataList":
        return {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": meta, "items": []}
    return {**former.list_head(meta), "items": []}


def _batches(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    begin = size = 0
    for index, entry in enumerate(entries, 1):
        size += len(entry.value)
        if size >= PIECE:
            yield entries[begin:index]
            begin, size = index, 0
    if begin < len(entries):
        yield entries[begin:]


def _rows(former: Former, batch: Sequence[Entry]) -> list[Any]:
    objects = [former.served.read(entry) for entry in batch]
    if former.form.kind == "Table":
        rows: list[Any] = former.table(objects, {})["rows"]
        return rows
    if former.form.kind == "PartialObjectMetadataList":
        return [partial(obj) for obj in objects]
    return objects


def _joined(former: Former, batch: Sequence[Entry]) -> bytes:
    """Items as JSON with commas between them; objects that rest as they are served are not read for it."""
    if former.form.kind or former.form.media != JSON:
        return encode(_rows(former, batch))[1:-1]
    return b",".join([former.served.item(entry) for entry in batch])


def _json(head: Object, texts: Iterable[bytes]) -> Iterator[bytes]:
    before = encode(head)[:-2]
    for text in texts:
        yield before + text
        before = b","
    yield b"]}" if before == b"," else before + b"]}"


def _lines(head: Object, texts: Iterable[bytes]) -> Iterator[bytes]:
    """As `_json`, two spaces for each level. Raw line breaks are never inside a JSON text, only between."""
    empty = msgspec.json.format(encode(head), indent=2)
    before = empty.removesuffix(b"]\n}")
    for text in texts:
        lines = msgspec.json.format(b"[" + text + b"]", indent=2).removesuffix(b"\n]")
        yield before + lines[1:].replace(b"\n", b"\n  ")
        before = b","
    yield b"\n  ]\n}" if before == b"," else empty


def _yaml(head: Object, batches: Iterable[list[Any]]) -> Iterator[bytes]:
    """Keys are sorted, and items stand as far left as the key above them."""
    name = list(head)[-1]
    before = _dump({key: value for key, value in head.items() if key < name}) + f"{name}:".encode()
    after = {key: value for key, value in head.items() if key > name}
    opened = False
    for rows in batches:
        yield (b"" if opened else before + b"\n") + _dump(rows)
        opened = True
    yield (b"" if opened else before + b" []\n") + (_dump(after) if after else b"")


def _dump(value: Any) -> bytes:
    return yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=True).encode()
