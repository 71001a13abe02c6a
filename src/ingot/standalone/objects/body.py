"""Request bodies: bounded, decoded, and told apart when they are wrong."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from ingot.api.object import Object
from ingot.api.status import bad_request, unsupported_media_type
from ingot.standalone import protobuf

# Far deeper than any honest manifest, and well within Python's stack; kube-apiserver's decoder stops at 10,000.
MAX_DEPTH = 500

decode_json = msgspec.json.Decoder().decode
encode_json = msgspec.json.Encoder().encode


@dataclass(slots=True)
class Body:
    """A decoded body with what strict validation wants to know of its text."""

    value: Any
    duplicates: list[str] = field(default_factory=list)


def decode(raw: bytes, media: str) -> Body:
    """Decodes JSON, YAML or protobuf; refuses what is none of them, too deep or not UTF-8."""
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
        value = decode_json(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(f"invalid JSON in the body of the request: {error}") from error
    _check_text(raw, value)
    return Body(value, _duplicates(raw))


def _from_protobuf(raw: bytes) -> Body:
    value = protobuf.decode(raw)
    # Messages have a limit of their own; some hold JSON.
    _check_text(raw, value)
    return Body(value)


def _check_text(raw: bytes, value: Any) -> None:
    # Fewer brackets than the limit cannot nest deeper than it.
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
        check_depth(value)


def _duplicates(raw: bytes) -> list[str]:
    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> Object:
        result = dict(items)
        if len(result) != len(items):
            names = [name for name, _ in items]
            found.extend(name for name in result if names.count(name) > 1)
        return result

    json.loads(raw, object_pairs_hook=pairs)
    return found


def _from_yaml(raw: bytes) -> Body:
    if raw.lstrip()[:1] == b"{":
        return _from_json(raw)
    try:
        text = raw.decode()
        _check_events(text)
        loader = _Loader(text)
        try:
            # Through JSON and back: keys become strings, and what JSON cannot say is refused.
            body = Body(decode_json(encode_json(loader.get_single_data())), loader.duplicates)
        finally:
            loader.dispose()
    except (yaml.YAMLError, msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        raise bad_request(f"error decoding YAML: {error}") from error
    return body


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
    """Safe YAML as JSON knows it: dates stay strings, and duplicate keys are remembered."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.duplicates: list[str] = []

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        self.duplicates += [key for key in dict.fromkeys(keys) if keys.count(key) > 1]
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
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
