"""Request bodies: bounded, decoded, and told apart when they are wrong."""

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from ingot.api.object import Object
from ingot.api.status import ApiError, bad_request, unsupported_media_type
from ingot.standalone import protobuf
from ingot.standalone.jsontext import encode
from ingot.standalone.objects import gojson

# Far deeper than any honest manifest, and well within Python's stack; kube-apiserver's decoder stops at 10,000.
MAX_DEPTH = 500

_decode_any = msgspec.json.Decoder().decode


class Unreadable(ApiError):
    """A body that is no JSON or no YAML; `fault` says why, in the words of Go's parsers."""

    def __init__(self, fault: str) -> None:
        super().__init__(400, "BadRequest", fault)
        self.fault = fault


@dataclass(slots=True)
class Body:
    """A decoded body with what strict validation wants to know of its text: the paths of duplicate fields."""

    value: Any
    duplicates: list[str] = field(default_factory=list)
    raw: bytes = field(default=b"", compare=False)

    @property
    def faults(self) -> list[str]:
        """What strict validation has against the text."""
        return [f'duplicate field "{path}"' for path in self.duplicates]


def decode(raw: bytes, media: str) -> Body:
    """Decodes JSON, YAML or protobuf. Raises 415 for any other, Unreadable for what is none of it, 400 where it
    nests too deep. Bytes that are not UTF-8 are replaced, as Go does."""
    media = media.partition(";")[0].strip().lower() or "application/json"
    if media == "application/json":
        return _from_json(raw)
    if media in ("application/yaml", "application/apply-patch+yaml"):
        return _from_yaml(raw)
    if media == protobuf.MEDIA:
        return _from_protobuf(raw)
    raise unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        f"application/json, application/yaml, {protobuf.MEDIA}"
    )


def _from_json(raw: bytes) -> Body:
    try:
        value = _decode_any(raw)
    except UnicodeDecodeError:
        return _from_json(raw.decode("utf-8", "replace-bytes").encode())
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unreadable(gojson.syntax_error(raw) or str(error)) from error
    _check_text(raw, value)
    return Body(value, _duplicates(raw), raw)


def _from_protobuf(raw: bytes) -> Body:
    value = protobuf.decode(raw)
    # Messages have a limit of their own; some hold JSON.
    _check_text(raw, value)
    return Body(value)


def _check_text(raw: bytes, value: Any) -> None:
    # Fewer brackets than the limit cannot nest deeper than it.
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
        check_depth(value)


class _Members(list[tuple[str, Any]]):
    """The members of an object as they stand in the text."""


def _duplicates(raw: bytes) -> list[str]:
    """The paths of fields that stand more than once in one object."""
    found = False

    def members(items: list[tuple[str, Any]]) -> Object:
        nonlocal found
        made = dict(items)
        found = found or len(made) != len(items)
        return made

    json.loads(raw, object_pairs_hook=members)
    # Paths cost more, and are hardly ever asked for.
    return list(dict.fromkeys(_repeated(json.loads(raw, object_pairs_hook=_Members), ""))) if found else []


def _repeated(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, _Members):
        seen = set()
        for name, child in value:
            here = f"{path}.{name}" if path else name
            if name in seen:
                yield here
            seen.add(name)
            yield from _repeated(child, here)
    elif isinstance(value, list):
        for at, child in enumerate(value):
            yield from _repeated(child, f"{path}[{at}]")


def _from_yaml(raw: bytes) -> Body:
    if raw.lstrip()[:1] == b"{":
        return _from_json(raw)
    try:
        text = raw.decode()
        _check_events(text)
        loader = _Loader(text)
        try:
            # Through JSON and back: keys become strings, and what JSON cannot say is refused.
            body = Body(_decode_any(encode(loader.get_single_data())), loader.duplicates, raw)
        finally:
            loader.dispose()
    except (yaml.YAMLError, msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise Unreadable(f"error converting YAML to JSON: yaml: {_problem(error)}") from error
    return body


def _problem(error: Exception) -> str:
    """What is wrong with a YAML text, as Go's port of libyaml tells it: without the line where it is the first."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error)
    line = next((mark.line for mark in (error.context_mark, error.problem_mark) if mark and mark.line), 0)
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    return f"line {line}: {error.problem}" if line else str(error.problem)


def _check_events(text: str) -> None:
    """Refuses depth, aliases and tags in the flat stream of events: PyYAML's composer recurses in C without a limit."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases are not accepted: write the value out")
        if getattr(event, "tag", None) is not None:
            raise yaml.YAMLError(f"tags such as {event.tag} are not accepted: write the plain value")
        if isinstance(event, yaml.events.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise yaml.YAMLError(f"the body nests deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.events.CollectionEndEvent):
            depth -= 1


class _Loader(yaml.CSafeLoader):
    """Safe YAML as JSON and Go know it: dates and `22:22` stay strings, and duplicate keys are remembered."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.duplicates: list[str] = []

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        times = Counter(key.value for key, _ in node.value)
        if times["<<"] > 1:
            # Each would be taken out of the list of keys on its own.
            raise yaml.YAMLError('mapping key "<<" already defined')
        self.duplicates += [key for key, number in times.items() if number > 1]
        return super().construct_mapping(node, deep)


# PyYAML's own also take sixties, whose value grows out of all bounds; Go reads those as strings.
_NUMBERS = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)\Z"),
    "tag:yaml.org,2002:float": re.compile(
        r"(?:[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+))"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
    ),
}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, _NUMBERS.get(tag, known)) for tag, known in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def check_depth(value: Any) -> None:
    """Refuses a value that nests deeper than MAX_DEPTH, before anything recurses into it."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for item in level if isinstance(item, dict | list) for child in _children(item)]
        if not level:
            return
    raise bad_request(f"the body nests deeper than {MAX_DEPTH} levels")


def _children(value: Object | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _replace_bytes(error: UnicodeError) -> tuple[str, int]:
    """Puts U+FFFD in place of every byte that is not UTF-8."""
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error("replace-bytes", _replace_bytes)
