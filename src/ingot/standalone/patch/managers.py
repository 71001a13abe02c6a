"""Who manages which field of an object: the bookkeeping of `metadata.managedFields` on each write.

A FieldManager stands for one kind as requests for one version and subresource see it. What it is asked to compare are
objects as the request decoded them, defaults filled in, before admission and the kind's own rules have changed them:
what those set belongs to no one.
"""

from collections.abc import Callable, Mapping
from typing import Final

from ingot.api.object import Object
from ingot.standalone.patch import entries, fieldset
from ingot.standalone.patch.compare import Comparison
from ingot.standalone.patch.entries import UPDATE, Entry, Identity, Managed
from ingot.standalone.patch.fieldset import FieldSet
from ingot.standalone.patch.typed import TypedSchema
from ingot.standalone.patch.types import TypedError

# Updaters beyond this number are merged into one, the longest unchanged first.
MAX_UPDATERS: Final = 10
_ANCIENT: Final = "ancient-changes"
_MAX_NAME: Final = 128

_UNTRACKED: Final = fieldset.of(
    fieldset.fields("apiVersion"),
    fieldset.fields("kind"),
    fieldset.fields("metadata"),
    fieldset.fields("metadata", "name"),
    fieldset.fields("metadata", "namespace"),
    fieldset.fields("metadata", "creationTimestamp"),
    fieldset.fields("metadata", "selfLink"),
    fieldset.fields("metadata", "uid"),
    fieldset.fields("metadata", "clusterName"),
    fieldset.fields("metadata", "generation"),
    fieldset.fields("metadata", "managedFields"),
    fieldset.fields("metadata", "resourceVersion"),
)


def manager_name(field_manager: str, user_agent: str) -> str:
    """The manager of a request: what it says it is, or else what its user agent says before the first slash."""
    if field_manager:
        return field_manager
    printable = "".join(filter(str.isprintable, user_agent.partition("/")[0]))
    return printable.encode()[:_MAX_NAME].decode(errors="ignore")


def _unconverted(obj: Object, _: str) -> Object:
    return obj


class FieldManager:
    """Keeps the managed fields of one kind, for requests in `api_version` to `subresource` ("" is the object itself).

    `schemas` has every version of the kind by apiVersion; `convert(obj, api_version)` gives an object in another of
    them and leaves its argument alone. `reset` are the fields that such requests cannot change (see resets).
    """

    def __init__(
        self,
        kind: str,
        api_version: str,
        schemas: Mapping[str, TypedSchema],
        subresource: str = "",
        reset: FieldSet | None = None,
        convert: Callable[[Object, str], Object] = _unconverted,
    ) -> None:
        self.kind = kind
        self.api_version = api_version
        self.schemas = schemas
        self.schema = schemas[api_version]
        self.subresource = subresource
        self.reset = reset or {}
        self._convert = convert

    def update(self, live: Object | None, new: Object, manager: str, now: str) -> list[Object]:
        """The managedFields of `new` after a create (`live` is None), update or patch; empty when there are none.

        `now` is RFC 3339 in UTC, in seconds. Fields that this write changed go to the manager, and from all others;
        fields that it removed go from all. An object that has lost its entries is not tracked again until applied.
        """
        managed = self._entries(live, new)
        if not managed and live is not None:
            return []
        try:
            self.record(managed, live, new, manager, now)
        except TypedError:
            return []
        _cap(managed)
        return entries.encode(managed)

    def _entries(self, live: Object | None, new: Object) -> Managed:
        """Those of the request if it has any that can be read, else those of the live object."""
        held = live["metadata"].get("managedFields") if live is not None else None
        if not self.subresource:
            sent = new["metadata"].get("managedFields")
            if entries.is_reset(sent):
                return {}
            if sent and sent != held:
                try:
                    return entries.decode(sent)
                except ValueError:
                    pass
        return entries.decode(held, trusted=True)

    def record(self, managed: Managed, live: Object | None, new: Object, manager: str, now: str) -> None:
        """Changes `managed` for an update from `live` to `new`. Raises TypedError for one that is not of its type."""
        old, new = self.zero() if live is None else without_entries(live), without_entries(new)
        self.reconcile(managed)
        compared = self.comparisons(managed, old, new)
        for who, entry in list(managed.items()):
            self.surrender(managed, who, entry, compared[entry.version])
        own = tracked(compared[self.api_version].changed)
        if own:
            who = Identity(manager or "unknown", UPDATE, self.api_version, self.subresource)
            before = managed.get(who)
            fields = own if before is None else fieldset.union(before.fields, own)
            # On a cluster an entry loses its time on the way from a Scale to the object.
            managed[who] = Entry(who, self.api_version, fields, "" if self.subresource == "scale" else now)

    def zero(self) -> Object:
        return {"apiVersion": self.api_version, "kind": self.kind, **self.schema.zero}

    def view(self, obj: Object, api_version: str) -> Object:
        """The object in another version of its kind."""
        return obj if obj.get("apiVersion", api_version) == api_version else self._convert(obj, api_version)

    def reconcile(self, managed: Managed) -> None:
        """Drops entries of versions that are no more, and mends sets that were written with another schema."""
        for who, entry in list(managed.items()):
            schema = self.schemas.get(entry.version)
            if schema is None:
                del managed[who]
            else:
                managed[who] = entry.having(schema.reconcile(entry.fields))

    def comparisons(self, managed: Managed, old: Object, new: Object) -> dict[str, Comparison]:
        """What changed, as seen in the request's version and in that of each entry.

        Fields that the request cannot change are left out in its own version only, as Kubernetes has it.
        """
        compared = {self.api_version: self.schema.compare(old, new).outside(self.reset)}
        for entry in managed.values():
            version = entry.version
            if version not in compared:
                before, after = self.view(old, version), self.view(new, version)
                compared[version] = self.schemas[version].compare(before, after)
        return compared

    def surrender(self, managed: Managed, who: Identity, entry: Entry, compared: Comparison) -> None:
        """Takes from an entry what others changed or removed; an entry that has nothing left goes."""
        fields = fieldset.difference(fieldset.difference(entry.fields, compared.changed), compared.removed)
        if fields:
            managed[who] = entry.having(fields)
        else:
            del managed[who]


def tracked(fields: FieldSet) -> FieldSet:
    """The set without what every object has and no one manages: its names, version and system fields."""
    return fieldset.difference(fields, _UNTRACKED)


def without_entries(obj: Object) -> Object:
    """The object without its managedFields; the object itself if it has none."""
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}


def _cap(managed: Managed) -> None:
    if len(managed) <= MAX_UPDATERS:
        return
    updaters = [entry for entry in managed.values() if entry.identity.operation == UPDATE]
    excess = len(updaters) - MAX_UPDATERS
    updaters.sort(key=lambda entry: (entry.time, entry.identity.order()))
    first: dict[str, Identity] = {}
    for entry in updaters:
        if excess <= 0:
            return
        version = entry.version
        if version not in first:
            first[version] = entry.identity
            continue
        bucket = Identity(_ANCIENT, UPDATE, version, "")
        base = bucket if bucket in managed and bucket != entry.identity else first[version]
        fields = fieldset.union(managed.pop(base).fields, managed.pop(entry.identity).fields)
        managed[bucket] = Entry(bucket, version, fields, entry.time)
        excess -= 1
