"""YAML as Kubernetes reads it: JSON's types only, no key twice. And as everyone reads it, when we write it."""

import re
from collections.abc import Hashable, Iterator
from typing import Any

import yaml

_TAG = "tag:yaml.org,2002:"
TEXT = f"{_TAG}str"
# What a plain word is to Kubernetes' parser: a day and a time of day are text to it, 1e3 and 0o17 numbers.
_WORDS = {
    "bool": (r"y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF", "yYtToOnNfF"),
    "null": (r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    "merge": (r"<<", "<"),
    "int": (r"[-+]?(0[bB][01_]+|0[oO]?[0-7_]+|0[xX][0-9a-fA-F_]+|0|[1-9][0-9_]*)", "-+0123456789"),
    "float": (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
}


def documents(content: bytes) -> Iterator[tuple[Any, yaml.Node]]:
    """Each document's value and its nodes, which know their lines. Raises YAMLError or UnicodeDecodeError."""
    loader = _Loader(content.decode("utf-8-sig"))
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None:
                yield loader.construct_document(node), node
    finally:
        loader.dispose()


class _Loader(yaml.CSafeLoader):
    """A safe loader without the types that JSON lacks."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen and key.tag != f"{_TAG}merge":
                raise yaml.constructor.ConstructorError(None, None, f'"{key.value}" is set twice', key.start_mark)
            seen.add(key.value)
        self.flatten_mapping(node)
        made = self.construct_object
        # Text first: as Python sees them, the keys 1 and true would be one.
        return {_as_key(made(key, deep=True)): made(value, deep=deep) for key, value in node.value}


def _as_key(value: Hashable) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)


def _boolean(_: _Loader, node: yaml.ScalarNode) -> bool:
    return node.value.lower() in ("y", "yes", "true", "on")


def _integer(_: _Loader, node: yaml.ScalarNode) -> int:
    digits = node.value.replace("_", "").lower()
    # YAML's 017 is Python's 0o17.
    digits = re.sub(r"^([-+]?)0(?=[0-7])", r"\g<1>0o", digits)
    return int(digits, 0)


def _float(_: _Loader, node: yaml.ScalarNode) -> float:
    value = float(node.value)
    return int(value) if value.is_integer() else value


_Loader.yaml_implicit_resolvers = {}
for _name, (_pattern, _first) in _WORDS.items():
    _Loader.add_implicit_resolver(f"{_TAG}{_name}", re.compile(f"^(?:{_pattern})$"), list(_first))
_Loader.add_constructor(f"{_TAG}bool", _boolean)
_Loader.add_constructor(f"{_TAG}int", _integer)
_Loader.add_constructor(f"{_TAG}float", _float)


def to_yaml(value: Any) -> str:
    """Text on several lines as a block; quotes around whatever some parser would not take for text."""
    return str(
        yaml.dump(value, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=120, sort_keys=True)
    )


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    if not value.replace("\n", "").replace("\t", "").isprintable():
        # Some of these are line breaks to one parser and text to another.
        return dumper.represent_scalar(TEXT, value, '"')
    standard = dumper.resolve(yaml.ScalarNode, value, (True, False))  # type: ignore[no-untyped-call]  # in its stubs
    plain = standard == TEXT and not _is_word(value)
    return dumper.represent_scalar(TEXT, value, "|" if "\n" in value else None if plain else '"')


def _is_word(value: str) -> bool:
    return any(re.fullmatch(pattern, value) for pattern, _ in _WORDS.values())


_Dumper.add_representer(str, _represent_text)
