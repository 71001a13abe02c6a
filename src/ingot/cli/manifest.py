"""Manifests: the objects in YAML and JSON files, each with the place that it was read from."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ingot.api.object import Object

SUFFIXES = (".yaml", ".yml", ".json")
STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was read: `document` counts from 1, `line` too (0: not known)."""

    file: str
    document: int = 0
    line: int = 0

    def __str__(self) -> str:
        parts = [f"document {self.document}"] if self.document else []
        parts += [f"line {self.line}"] if self.line else []
        return f"{self.file}, {', '.join(parts)}" if parts else self.file


class ManifestError(Exception):
    """A file, or a document in it, that holds no object: `problem` says why and what to do."""

    def __init__(self, place: Place, problem: str) -> None:
        super().__init__(f"{place}: {problem}")
        self.place = place
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Manifest:
    obj: Object
    place: Place
    node: yaml.Node | None = None

    def line_of(self, field: str) -> int:
        """The line of a field such as `spec.disks[0].name`, or of the nearest field around it; 0 if unknown."""
        if self.node is None:
            return 0
        node, line = self.node, self.node.start_mark.line
        for step in _steps(field):
            found = _inner(node, step)
            if found is None:
                break
            node, line = found
        return int(line) + 1


def _steps(field: str) -> list[str]:
    return [step for step in field.replace("[", ".").replace("]", "").split(".") if step]


def _inner(node: yaml.Node | None, step: str) -> tuple[yaml.Node, int] | None:
    """The node of a key or an index, and the line where that begins: a key may stand above its value."""
    if isinstance(node, yaml.MappingNode):
        return next(((value, key.start_mark.line) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
        item: yaml.Node = node.value[int(step)]
        return item, item.start_mark.line
    return None


def read(paths: Sequence[str]) -> Iterator[Manifest | ManifestError]:
    """The objects of files, of directories and all below them, and of standard input, in this order."""
    for path in paths:
        if path == STANDARD_INPUT:
            yield from parse(sys.stdin.buffer.read(), "standard input")
            continue
        try:
            files = _files(Path(path))
        except OSError as error:
            yield ManifestError(Place(path), f"cannot be read: {error.strerror}")
            continue
        if not files:
            yield ManifestError(Place(path), f"no {', '.join(SUFFIXES)} file in this directory")
        for file in files:
            try:
                content = file.read_bytes()
            except OSError as error:
                yield ManifestError(Place(str(file)), f"cannot be read: {error.strerror}")
                continue
            yield from parse(content, str(file))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        path.stat()
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())


def parse(content: bytes, file: str) -> Iterator[Manifest | ManifestError]:
    """The objects of one text; Lists give their items. What comes after a syntax error cannot be read."""
    from ingot.cli.yamltext import documents

    number = 0
    try:
        if content.lstrip()[:1] in (b"{", b"["):
            found = json.loads(content)
            for value in found if isinstance(found, list) else [found]:
                number += 1
                yield from _objects(value, Place(file, number if isinstance(found, list) else 0), None)
            return
    except ValueError:
        # YAML has a notation like JSON's, so that this may still be YAML.
        number = 0
    try:
        for value, node in documents(content):
            number += 1
            if value is not None:
                yield from _objects(value, Place(file, number, node.start_mark.line + 1), node)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        yield ManifestError(_place(error, file, number + 1), _problem(error))


def _objects(value: Any, place: Place, node: yaml.Node | None) -> Iterator[Manifest | ManifestError]:
    if not isinstance(value, dict):
        yield ManifestError(place, "is not an object: it must have apiVersion, kind and metadata")
    elif str(value.get("kind", "")).endswith("List") and isinstance(value.get("items"), list):
        items = _inner(node, "items")
        for index, item in enumerate(value["items"]):
            inner = _inner(items[0], str(index)) if items else None
            yield from _objects(item, place, inner[0] if inner else None)
    elif problem := _lacking(value):
        yield ManifestError(place, problem)
    else:
        yield Manifest(value, place, node)


def _lacking(obj: Object) -> str:
    """What an object must have before a server can be asked about it."""
    for field in ("apiVersion", "kind"):
        if not isinstance(obj.get(field), str) or not obj[field]:
            return f"{field} is not set: every object has an apiVersion and a kind"
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        why = "is not set: give it a name" if name in (None, "") else "is not text: put it in quotes"
        return f"metadata.name of this {obj['kind']} {why}"
    return ""


def _place(error: Exception, file: str, document: int) -> Place:
    mark = getattr(error, "problem_mark", None)
    return Place(file, document, mark.line + 1 if mark else 0)


def _problem(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8 text (byte {error.start})"
    problem = str(getattr(error, "problem", "") or error)
    hint = "; YAML is indented by spaces, never by tabs" if "tab" in problem or "\\t" in problem else ""
    return f"is not YAML: {problem}{hint}"
