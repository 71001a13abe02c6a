"""The base of every type on the wire, and the way from JSON dictionaries to structs and back."""

from typing import ClassVar, Self, cast

import msgspec

from ingot.api.machinery.field import Rule
from ingot.api.object import Object


class Shape(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A JSON object whose fields are known.

    kw_only is not inherited: a class with required fields after optional ones says `kw_only=True` itself.
    A field without a default is required; a default other than UNSET is the schema's default too.
    A name that camel case does not give is written as `msgspec.field(name="downwardAPI")`.
    Reading is lenient (unknown fields are ignored, limits not checked): the API server has checked already.
    """

    RULES: ClassVar[tuple[Rule, ...]] = ()
    # True for a type of which only a part is written down here: the rest passes through unchanged.
    PRESERVE: ClassVar[bool] = False

    @classmethod
    def from_object(cls, obj: Object) -> Self:
        """Reads a dictionary; raises `msgspec.ValidationError` with the path where the types do not fit."""
        return msgspec.convert(obj, cls)

    def to_object(self) -> Object:
        """The dictionary for the wire, without absent fields and without defaults."""
        return cast(Object, msgspec.to_builtins(self))
