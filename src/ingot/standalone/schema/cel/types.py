"""The types of CEL, and the type that a schema gives to a value."""

from dataclasses import dataclass

from ingot.standalone.schema.cel.names import escape
from ingot.standalone.schema.node import Node

_SHOWN = {"null_type": "null", "error": "!error!"}


@dataclass(frozen=True, slots=True)
class Type:
    """A type by its name. Objects have the schema that they are of, and two schemas make two types."""

    name: str
    params: "tuple[Type, ...]" = ()
    node: Node | None = None

    def __str__(self) -> str:
        shown = _SHOWN.get(self.name, self.name)
        return f"{shown}({', '.join(map(str, self.params))})" if self.params else shown

    @property
    def free(self) -> bool:
        """Whether this is a variable that stands for a type yet to be found."""
        return self.name.startswith("$")


DYN = Type("dyn")
ERROR = Type("error")
BOOL = Type("bool")
INT = Type("int")
UINT = Type("uint")
DOUBLE = Type("double")
STRING = Type("string")
BYTES = Type("bytes")
NULL = Type("null_type")
TIMESTAMP = Type("timestamp")
DURATION = Type("duration")
URL = Type("kubernetes.URL")
QUANTITY = Type("kubernetes.Quantity")
IP = Type("net.IP")
CIDR = Type("net.CIDR")
FORMAT = Type("kubernetes.NamedFormat")

PLAIN = {kind.name: kind for kind in (DYN, BOOL, INT, UINT, DOUBLE, STRING, BYTES, NULL, TIMESTAMP, DURATION)} | {
    "url": URL,
    "quantity": QUANTITY,
    "ip": IP,
    "cidr": CIDR,
    "format": FORMAT,
}
# What these may be null at compile time, by an old habit of CEL.
NULLABLE = (
    "timestamp",
    "duration",
    "object",
    "optional_type",
    URL.name,
    QUANTITY.name,
    IP.name,
    CIDR.name,
    FORMAT.name,
)

_FORMATS = {"byte": BYTES, "duration": DURATION, "date": TIMESTAMP, "date-time": TIMESTAMP}
_SCALARS = {"boolean": BOOL, "number": DOUBLE, "integer": INT}


def list_of(item: Type) -> Type:
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("optional_type", (value,))


def type_of(kind: Type) -> Type:
    return Type("type", (kind,))


def wildcard(kind: Type) -> bool:
    """Whether nothing is known of a type until the expression runs."""
    return kind.name in ("dyn", "error")


def of_schema(node: Node) -> Type | None:
    """The type of a schema's values, or None for values that rules cannot see: those without a type."""
    if node.int_or_string:
        return DYN
    if node.type == "array":
        item = of_schema(node.items) if node.items is not None else None
        return None if item is None else list_of(item)
    if node.type == "object":
        if node.values is not None:
            value = of_schema(node.values)
            return None if value is None else map_of(STRING, value)
        return Type("object", (), node)
    if node.type == "string":
        return _FORMATS.get(node.format, STRING)
    return _SCALARS.get(node.type)


def field_type(kind: Type, name: str) -> Type | None:
    """The type of an object's field, by the name that rules use for it; None when there is none."""
    if kind.node is None:
        return None
    for own, below in seen_properties(kind.node).items():
        if escape(own) == name:
            return of_schema(below)
    return None


_TEXT = Node({"type": "string"}, "string", ("string",))
_METADATA = Node({"type": "object"}, "object", ("object",), properties={"name": _TEXT, "generateName": _TEXT})
_META = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA}


def seen_properties(node: Node) -> dict[str, Node]:
    """The properties that rules see: an embedded resource has a type and a name, whatever its schema says."""
    return with_meta(node.properties) if node.embedded else node.properties


def with_meta(properties: dict[str, Node]) -> dict[str, Node]:
    """The properties of a whole resource. Of its metadata rules see the name and nothing else."""
    metadata = properties.get("metadata")
    named = metadata is not None and {"name", "generateName"} == set(metadata.properties)
    complete = named and all(properties.get(name) is not None for name in ("apiVersion", "kind"))
    return properties if complete else {**properties, **_META}
