"""Server-side apply: merging what a manager wants into what is there, with an owner for every field."""

from dataclasses import replace

from ingot.api.object import Object, name_of, namespace_of, split_api_version
from ingot.api.status import ApiError, bad_request
from ingot.standalone.patch import entries, fieldset, lastapplied
from ingot.standalone.patch.conflicts import Conflicts
from ingot.standalone.patch.entries import APPLY, Entry, Identity, Managed
from ingot.standalone.patch.managers import FieldManager, tracked, without_entries
from ingot.standalone.patch.types import TypedError

_BEFORE = "before-first-apply"


def server_side(
    fields: FieldManager, live: Object | None, applied: Object, manager: str, force: bool, now: str
) -> Object:
    """The live object (None: there is none yet) with `applied` merged into it and managedFields brought up to date.

    Fields that this manager applied before and leaves out now go, unless another manager owns them. When nothing
    changes the result equals `live`. Neither argument is changed. Defaults are the caller's to fill in, and the caller
    checks name and namespace. Raises ApiError: 409 when another manager owns a field with another value and `force` is
    not set, 400 for an object of another kind or one that brings managedFields, 500 for one that is not of its type.
    """
    _check(fields, applied)
    try:
        managed = entries.decode(live["metadata"].get("managedFields") if live else None, trusted=True)
        if live is not None and not managed:
            fields.record(managed, None, live, _BEFORE, now)
        merged = _apply(fields, live, applied, managed, manager, force, now)
    except Conflicts as conflicts:
        raise conflicts.error() from None
    except TypedError as error:
        raise ApiError(500, "", f"failed to create typed live object ({_shown(applied)}): {error}") from None
    return lastapplied.renewed(merged, applied) if manager == lastapplied.MANAGER else merged


def _check(fields: FieldManager, applied: Object) -> None:
    kind = (applied.get("apiVersion", ""), applied.get("kind", ""))
    if kind != (fields.api_version, fields.kind):
        raise bad_request(f"invalid object type: {_kind_shown(applied)}")
    metadata = applied.get("metadata")
    if type(metadata) is dict and type(metadata.get("managedFields")) is list:
        raise bad_request("metadata.managedFields must be nil")
    try:
        fields.schema.validate(applied)
    except TypedError as error:
        raise ApiError(500, "", f"failed to create typed patch object ({_shown(applied)}): {error}") from None


def _apply(
    fields: FieldManager,
    live: Object | None,
    applied: Object,
    managed: Managed,
    manager: str,
    force: bool,
    now: str,
) -> Object:
    current = without_entries(live) if live is not None else {}
    who = entries.identity(manager or "unknown", APPLY, fields.api_version, fields.subresource)
    try:
        merged, after = _merged(fields, current, applied, dict(managed), who, force)
    except Conflicts as conflicts:
        if manager != lastapplied.MANAGER or live is None:
            raise
        left = conflicts.outside(lastapplied.uncontested(fields, live))
        if left.fields:
            raise left from None
        merged, after = _merged(fields, current, applied, dict(managed), who, True)
    if not fields.schema.equal(merged, current) and who in after:
        after[who] = replace(after[who], time=now)
    if after:
        merged["metadata"] = {**(merged.get("metadata") or {}), "managedFields": entries.encode(after)}
    return merged


def _merged(
    fields: FieldManager, current: Object, applied: Object, managed: Managed, who: Identity, force: bool
) -> tuple[Object, Managed]:
    """The merged object and its entries. Raises Conflicts unless forced."""
    fields.reconcile(managed)
    last = managed.get(who)
    owned = fieldset.recursive_difference(fields.schema.members(applied), fields.reset)
    managed[who] = Entry(who, fields.api_version, owned, last.time if last else "")
    merged = fields.schema.merge(current, applied)
    if last is not None and (last.version != fields.api_version or fieldset.difference(last.fields, owned)):
        merged = _prune(fields, merged, managed, last)
    compared = fields.comparisons(managed, current, merged)
    others = [entry for entry in managed.values() if entry.identity != who]
    if not force:
        disputed = {
            entry.identity: fieldset.intersection(entry.fields, compared[entry.version].changed) for entry in others
        }
        if any(disputed.values()):
            raise Conflicts({owner: inner for owner, inner in disputed.items() if inner})
    for entry in others:
        fields.surrender(managed, entry.identity, entry, compared[entry.version])
    if owned := tracked(owned):
        managed[who] = managed[who].having(owned)
    else:
        del managed[who]
    return merged, managed


def _prune(fields: FieldManager, merged: Object, managed: Managed, last: Entry) -> Object:
    """Removes what the manager applied last time and no one owns now."""
    schema = fields.schemas[last.version]
    whole = fields.view(merged, last.version)
    before = schema.with_named_fields(last.fields)
    pruned = schema.remove(whole, before)
    pruned = fields.view(_add_back_owned(fields, whole, pruned, last.version, managed), last.version)
    # What went with the rest but was not this manager's stays.
    kept = schema.with_named_fields(schema.members(pruned))
    gone = fieldset.difference(schema.with_named_fields(schema.members(whole)), kept)
    return fields.view(schema.remove(whole, fieldset.intersection(gone, before)), fields.api_version)


def _add_back_owned(fields: FieldManager, whole: Object, pruned: Object, version: str, managed: Managed) -> Object:
    """The pruned object with all that any manager owns, this one's new configuration included."""
    by_version: dict[str, fieldset.FieldSet] = {version: {}}
    for entry in managed.values():
        by_version[entry.version] = fieldset.union(by_version.get(entry.version, {}), entry.fields)
    for each, owned in by_version.items():
        schema = fields.schemas[each]
        whole, pruned = fields.view(whole, each), fields.view(pruned, each)
        named = [schema.with_named_fields(group) for group in (schema.members(pruned), owned)]
        every = schema.with_named_fields(schema.members(whole))
        pruned = schema.remove(whole, fieldset.difference(every, fieldset.union(*named)))
    return pruned


def _shown(obj: Object) -> str:
    return f"{namespace_of(obj)}/{name_of(obj)}; {_kind_shown(obj)}"


def _kind_shown(obj: Object) -> str:
    named = [value if isinstance(value := obj.get(name), str) else "" for name in ("apiVersion", "kind")]
    group, version = split_api_version(named[0])
    return f"{group}/{version}, Kind={named[1]}"
