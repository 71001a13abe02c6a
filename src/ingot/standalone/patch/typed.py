"""A kind's schema in one version, compiled for field management."""

from functools import cached_property

from ingot.api.object import Object
from ingot.standalone.patch import compare as comparing
from ingot.standalone.patch import members as collecting
from ingot.standalone.patch import merge as merging
from ingot.standalone.patch import reconcile as reconciling
from ingot.standalone.patch import remove as removing
from ingot.standalone.patch import validate as validating
from ingot.standalone.patch.compare import Comparison
from ingot.standalone.patch.fieldset import FieldSet
from ingot.standalone.patch.types import Compiler, Type


class TypedSchema:
    """What field management needs to know of one version of a kind. Build it once; the first use compiles it.

    `resolved` is the schema of the whole object. `zero` is what an object of the kind holds before anything is set, for
    kinds whose empty structs are always there (see zeros); fields that it holds are not new when an object is created.
    No function changes its arguments.
    """

    def __init__(self, resolved: Object, zero: Object | None = None) -> None:
        self.resolved = resolved
        self.zero = zero or {}

    @cached_property
    def type(self) -> Type:
        return Compiler(self.resolved).root

    def compare(self, old: Object, new: Object) -> Comparison:
        return comparing.compare(self.type, old, new)

    def equal(self, old: Object, new: Object) -> bool:
        return comparing.equal(self.type, old, new)

    def members(self, obj: Object) -> FieldSet:
        """The fields that an applied configuration mentions."""
        return collecting.members(self.type, obj)

    def merge(self, base: Object, partial: Object) -> Object:
        return merging.merge(self.type, base, partial)

    def remove(self, obj: Object, gone: FieldSet) -> Object:
        return removing.remove(self.type, obj, gone)

    def validate(self, obj: Object, duplicates: bool = False) -> None:
        validating.validate(self.type, obj, duplicates)

    def reconcile(self, owned: FieldSet) -> FieldSet:
        return reconciling.reconcile(self.type, owned)

    def with_named_fields(self, owned: FieldSet) -> FieldSet:
        return reconciling.with_named_fields(self.type, owned)
