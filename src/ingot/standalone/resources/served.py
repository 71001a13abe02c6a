"""One version of one kind, with its rules compiled: what a request works with."""

from functools import cached_property

from ingot.api import registry
from ingot.api.object import Object, split_api_version
from ingot.api.status import Cause
from ingot.standalone.builtin import meta
from ingot.standalone.builtin.canonical import canonical
from ingot.standalone.jsontext import decode, encode
from ingot.standalone.patch import resets
from ingot.standalone.patch.managers import FieldManager
from ingot.standalone.patch.typed import TypedSchema
from ingot.standalone.resources.definition import Definition, Version
from ingot.standalone.schema.schema import Schema
from ingot.standalone.store.history import Entry


class Served:
    """A definition seen through one of its versions.

    `changed` is the revision at which a custom resource's schema last changed: objects older than that are
    defaulted and pruned when they are read, as kube-apiserver does; all others rest exactly as they are served.
    """

    def __init__(self, definition: Definition, version: Version, changed: int = 0) -> None:
        self.definition = definition
        self.version = version
        self.changed = changed
        self.api_version = definition.api_version(version.name)
        self.stored = version.name == definition.storage_version and not definition.storage_key
        self._fields: dict[str, FieldManager] = {}
        # Lists of Kubernetes' own kinds give items without kind and apiVersion; they rest with both in front.
        self._head = encode({"kind": definition.kind, "apiVersion": self.api_version})[:-1] + b","

    @cached_property
    def schema(self) -> Schema:
        return Schema(self.version.schema)

    @cached_property
    def typed(self) -> TypedSchema:
        return self._typed(self.version)

    def _typed(self, version: Version) -> TypedSchema:
        zero: Object = {}
        if not self.definition.custom:
            # What Kubernetes' typed memory holds before anything is set is nobody's field.
            canonical(version.schema, zero)
        return TypedSchema(version.schema, zero)

    def fields(self, subresource: str = "") -> FieldManager:
        """The keeper of managed fields for requests in this version."""
        found = self._fields.get(subresource)
        if found is None:
            found = self._fields[subresource] = self._field_manager(subresource)
        return found

    def _field_manager(self, subresource: str) -> FieldManager:
        definition = self.definition
        schemas = {
            definition.api_version(version.name): self._typed(version)
            for version in definition.versions.values()
            if version.name != self.version.name
        }
        schemas[self.api_version] = self.typed
        reset = resets.of(definition, subresource)
        return FieldManager(definition.kind, self.api_version, schemas, subresource, reset, self._converted)

    def _converted(self, obj: Object, api_version: str) -> Object:
        return self._convert(dict(obj), split_api_version(api_version)[1])

    def rests_as_served(self, entry: Entry) -> bool:
        """Whether the entry's bytes are this version's answer as they are."""
        return self.stored and entry.revision >= self.changed

    def read(self, entry: Entry) -> Object:
        """The entry's object in this version: a fresh one, free to change."""
        obj = decode(entry.value)
        if not self.rests_as_served(entry):
            obj = self.from_storage(obj)
            if self.definition.custom:
                self.schema.prune(obj)
                self.schema.default(obj)
        return obj

    def value(self, entry: Entry) -> bytes:
        """The entry's object in this version, as JSON."""
        return entry.value if self.rests_as_served(entry) else encode(self.read(entry))

    def item(self, entry: Entry) -> bytes:
        """The entry as an item of a list."""
        value = self.value(entry)
        if not self.definition.custom and value.startswith(self._head):
            return b"{" + value[len(self._head) :]
        return value

    def check(self, new: Object, old: Object | None, subresource: str = "") -> list[Cause]:
        """Everything that is wrong with an object of this version; `old` is None on create."""
        definition = self.definition
        if not definition.custom:
            status_only = subresource == "status" and old is not None
            judge = (definition.validate_status if status_only else None) or definition.validate
            return judge(new, old)
        causes = meta.validate(new, old, definition.namespaced, kubernetes=False)
        if subresource == "status" and old is not None:
            causes += self.schema.check_status(new, old)
        else:
            causes += self.schema.check(new, old)
        causes += definition.validate(new, old)
        return causes or registry.validate(new, old)

    def from_storage(self, obj: Object) -> Object:
        return self._convert(self.definition.from_stored(obj), self.version.name)

    def to_storage(self, obj: Object) -> Object:
        return self.definition.to_stored(self._convert(obj, self.definition.storage_version))

    def _convert(self, obj: Object, version: str) -> Object:
        if split_api_version(obj["apiVersion"])[1] == version:
            return obj
        if registry.find(self.definition.group, self.definition.kind):
            return registry.convert(obj, version)
        obj["apiVersion"] = self.definition.api_version(version)
        return obj
