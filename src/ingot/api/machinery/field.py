"""What an annotation says of a field beyond its type: `Annotated[str, Field("What it is.", pattern="…")]`."""

from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias, TypeVar

from msgspec import UNSET, UnsetType

T = TypeVar("T")

# A field that may be absent: `Opt[str] = UNSET`. Absent and null are different things on the wire.
Opt: TypeAlias = T | UnsetType

__all__ = ["UNSET", "Field", "Opt", "Rule", "UnsetType"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One CEL rule (`x-kubernetes-validations`): `expression` must hold, or `message` is told.

    `field_path` names the field below the annotated one that is at fault, such as `.uri`.
    """

    expression: str
    message: str
    field_path: str = ""
    reason: str = ""

    def schema(self) -> dict[str, str]:
        said = {"rule": self.expression, "message": self.message}
        if self.field_path:
            said["fieldPath"] = self.field_path
        if self.reason:
            said["reason"] = self.reason
        return said


@dataclass(frozen=True, slots=True)
class Field:
    """Description and limits of one field.

    `list_type` is atomic, set or map; a map needs `keys`, the fields that tell its items apart.
    `enum` is for strings that Python code does not spell out as a Literal.
    `nullable` is said by `| None` in the type.
    `preserve` keeps fields that the schema does not know; `embedded` holds a whole Kubernetes object.
    """

    doc: str = ""
    pattern: str | None = None
    format: str | None = None
    enum: tuple[str, ...] | None = None
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    max_properties: int | None = None
    list_type: str | None = None
    keys: tuple[str, ...] | None = None
    map_type: str | None = None
    rules: tuple[Rule, ...] = ()
    nullable: bool = False
    preserve: bool = False
    embedded: bool = False

    def over(self, inner: "Field") -> "Field":
        """This field, with whatever it leaves open taken from an annotation further inside."""
        said: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            # By identity: a minimum of 0 is equal to False, and yet it was said.
            if value is not each.default:
                said[each.name] = value
        return replace(inner, **said)
