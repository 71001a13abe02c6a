"""Messages: numbered fields, and how each finds its place in the JSON object."""

from abc import ABC, abstractmethod

from ingot.api.object import Object
from ingot.standalone.protobuf.types import EMPTY, Type, text
from ingot.standalone.protobuf.wire import BYTES, VARINT, Value, WireError, members, records, varints, wrong_type

# Only schemas of custom resources nest at will; honest ones stay far below.
MAX_DEPTH = 100


class Field(ABC):
    """One field of a message: the wire types that it takes, and where its values go."""

    __slots__ = ("name", "wires")

    def __init__(self, name: str, *wires: int) -> None:
        self.name = name
        self.wires = wires

    @abstractmethod
    def put(self, obj: Object, value: Value, wire: int, depth: int) -> None:
        """Puts one value of the wire into the JSON object. Raises WireError."""


class Message:
    """One message, by the numbers of its fields; `name` is the one that errors show."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: dict[int, Field] = {}

    def fill(self, obj: Object, data: memoryview, depth: int) -> None:
        """Reads the message into a JSON object; fields of unknown numbers are skipped. Raises WireError."""
        if depth > MAX_DEPTH:
            raise WireError(f"the body nests deeper than {MAX_DEPTH} messages")
        fields = self.fields
        for number, wire, value in records(data, self.name):
            field = fields.get(number)
            if field is None:
                continue
            if wire not in field.wires:
                raise wrong_type(wire, field.name)
            field.put(obj, value, wire, depth + 1)

    def read(self, data: memoryview, depth: int) -> Object:
        """The message as a JSON object of its own. Raises WireError."""
        made: Object = {}
        self.fill(made, data, depth)
        return made


class Single(Field):
    """A field of one value, which the last one on the wire decides.

    Go writes every plain field, the empty ones too; `keep` tells whether JSON shows those.
    """

    __slots__ = ("keep", "type")

    def __init__(self, name: str, type_: Type, keep: bool) -> None:
        super().__init__(name, type_.wire)
        self.type = type_
        self.keep = keep

    def put(self, obj: Object, value: Value, wire: int, depth: int) -> None:
        read = self.type.read(value, depth)
        if read is None or not (read or self.keep):
            obj.pop(self.name, None)
        else:
            obj[self.name] = read


class Structure(Field):
    """A field that is a structure; parts of it that come one by one are one structure."""

    __slots__ = ("message",)

    def __init__(self, name: str, message: Message) -> None:
        super().__init__(name, BYTES)
        self.message = message

    def put(self, obj: Object, value: Value, wire: int, depth: int) -> None:
        self.message.fill(obj.setdefault(self.name, {}), value, depth)


class Inline(Field):
    """A message whose fields JSON shows as those of the structure around it."""

    __slots__ = ("message",)

    def __init__(self, message: Message) -> None:
        super().__init__(message.name, BYTES)
        self.message = message

    def put(self, obj: Object, value: Value, wire: int, depth: int) -> None:
        self.message.fill(obj, value, depth)


class Repeated(Field):
    """A list: each value on the wire is one more item. Numbers may also come packed."""

    __slots__ = ("type",)

    def __init__(self, name: str, type_: Type) -> None:
        super().__init__(name, *((VARINT, BYTES) if type_.wire == VARINT else (type_.wire,)))
        self.type = type_

    def put(self, obj: Object, value: Value, wire: int, depth: int) -> None:
        packed = wire != self.type.wire
        items = varints(value) if packed else (value,)
        if read := [self.type.read(item, depth) for item in items]:
            obj.setdefault(self.name, []).extend(read)


class Mapping(Field):
    """A map: each value on the wire is a message of a key and its value."""

    __slots__ = ("type",)

    def __init__(self, name: str, type_: Type) -> None:
        super().__init__(name, BYTES)
        self.type = type_

    def put(self, obj: Object, value: Value, wire: int, depth: int) -> None:
        entry = members(value, self.name, (BYTES, self.type.wire))
        item = self.type.read(entry[2], depth) if 2 in entry else self.type.zero(depth)
        obj.setdefault(self.name, {})[text(entry.get(1, EMPTY))] = item
