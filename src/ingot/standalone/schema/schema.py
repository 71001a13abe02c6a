"""One version's schema of one kind, compiled: what the server asks it."""

from functools import cached_property

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.schema import compiled, defaulting, embedded, lists, pruning, rules, validator
from ingot.standalone.schema.node import Node, build
from ingot.standalone.schema.pairs import Pair

# Faults after which a rule could meet values that its schema promised could not be.
_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_TOO_DEEP = "exceeded max depth"


class Schema:
    """The rules of a resolved schema. Its parts are compiled when they are first asked for.

    `resolved` is an OpenAPI v3 schema in which every `$ref` has been replaced by the dictionary that it names; it may
    contain itself. It must not change afterwards.
    """

    def __init__(self, resolved: Object) -> None:
        self.resolved = resolved

    def unknown(self, obj: Object) -> list[str]:
        """The paths of fields that the schema does not know, sorted: `spec.foo`, `spec.list[0].x`."""
        return [] if self._known(obj) else pruning.unknown(obj, self._root)

    def prune(self, obj: Object) -> None:
        """Removes unknown fields in place."""
        if not self._known(obj):
            pruning.prune(obj, self._root)

    def default(self, obj: Object) -> None:
        """Fills in defaults in place, and drops nulls where null is neither allowed nor replaced by a default."""
        if not self._without_nulls(obj):
            defaulting.drop_nulls(obj, self._root)
        if self._root in self._defaulted:
            defaulting.fill(obj, self._root, self._defaulted)

    def validate(self, obj: Object, old: Object | None = None) -> list[Cause]:
        """What is wrong with an object by type, range, list type or embedded resource.

        With `old`, faults of parts that the update did not change are let pass, as Kubernetes does since 1.30.
        """
        try:
            return self._schema_causes(obj, old) + self._structure_causes(obj, old)
        except RecursionError:
            return [fields.invalid("", "object", _TOO_DEEP)]

    def validate_rules(self, obj: Object, old: Object | None = None, ratchet: bool = True) -> list[Cause]:
        """The `x-kubernetes-validations` that fail for an object without other faults.

        `ratchet` is False for an update of the status: Kubernetes then holds unchanged parts to their rules too.
        """
        if self._rules is None:
            return []
        try:
            return rules.causes(self._rules, obj, old, ratchet)
        except RecursionError:
            return [fields.invalid("", "object", _TOO_DEEP)]

    def check(self, obj: Object, old: Object | None = None) -> list[Cause]:
        """Everything that is wrong with an object: its rules are only asked when they can rely on its types."""
        return self._with_rules(self.validate(obj, old), obj, old, True)

    def check_status(self, obj: Object, old: Object) -> list[Cause]:
        """Everything that is wrong with an object whose status has been updated."""
        status = self._root.properties.get("status")
        causes: list[Cause] = []
        if status is not None and "status" in obj and not self._valid(obj):
            causes += validator.causes(obj["status"], status, base="status")
        return self._with_rules(causes + self._doubled(obj, old), obj, old, False)

    def malformed(self, obj: Object) -> str | None:
        """Why an object cannot even be read, as the end of a 400's message: metadata of a wrong type."""
        return embedded.unreadable(obj, self._root, self._embedding)

    def _with_rules(self, causes: list[Cause], obj: Object, old: Object | None, ratchet: bool) -> list[Cause]:
        if self._rules is None:
            return causes
        if any(cause.reason in _BLOCKING for cause in causes):
            return [*causes, fields.invalid("", None, _UNCHECKED)]
        return causes + self.validate_rules(obj, old, ratchet)

    @cached_property
    def _rules(self) -> rules.Level | None:
        return rules.build(self._root)

    @cached_property
    def _root(self) -> Node:
        return build(self.resolved)

    @cached_property
    def _known(self) -> compiled.Check:
        return compiled.known(self._root)

    @cached_property
    def _valid(self) -> compiled.Check:
        return compiled.values(self._root)

    @cached_property
    def _without_nulls(self) -> compiled.Check:
        return compiled.nulls(self._root)

    @cached_property
    def _defaulted(self) -> frozenset[Node]:
        return defaulting.with_defaults(self._root)

    @cached_property
    def _keyed(self) -> frozenset[Node]:
        return lists.with_keys(self._root)

    @cached_property
    def _embedding(self) -> frozenset[Node]:
        return embedded.with_resources(self._root)

    def _schema_causes(self, obj: Object, old: Object | None) -> list[Cause]:
        if self._valid(obj):
            return []
        return validator.causes(obj, self._root, None if old is None else Pair(obj, old, self._root))

    def _structure_causes(self, obj: Object, old: Object | None) -> list[Cause]:
        causes = embedded.faults(obj, self._root, self._embedding) if self._root in self._embedding else []
        return causes + self._doubled(obj, old)

    def _doubled(self, obj: Object, old: Object | None) -> list[Cause]:
        if self._root not in self._keyed:
            return []
        doubled = lists.duplicates(obj, self._root, self._keyed)
        # An object that had doubles before may keep them.
        excused = doubled and old is not None and lists.duplicates(old, self._root, self._keyed)
        return [] if excused else doubled
