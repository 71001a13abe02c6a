"""`metadata.managedFields` read and written: who manages which fields, since when, by which operation."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from ingot.api.object import Object
from ingot.standalone import times
from ingot.standalone.patch import fieldset
from ingot.standalone.patch.fieldset import FieldSet
from ingot.standalone.patch.values import to_json

APPLY = "Apply"
UPDATE = "Update"


class Identity(NamedTuple):
    """What makes two entries one. An applier is the same in every version, so its `version` is empty."""

    manager: str
    operation: str
    version: str
    subresource: str

    def order(self) -> str:
        """A sort key. Kubernetes sorts managers by the JSON in which it keeps what identifies them."""
        named = zip(("manager", "operation", "apiVersion", "subresource"), self, strict=True)
        return "{" + ",".join(f'"{name}":{to_json(value)}' for name, value in named if value) + "}"

    def __str__(self) -> str:
        """The manager as conflicts name it."""
        shown = f'"{self.manager}"'
        if self.subresource:
            shown += f' with subresource "{self.subresource}"'
        return f"{shown} using {self.version}" if self.operation == UPDATE else shown


@dataclass(frozen=True, slots=True)
class Entry:
    """The fields of one manager, as paths in `version`. `time` is RFC 3339 in UTC, "" when none is known."""

    identity: Identity
    version: str
    fields: FieldSet
    time: str

    def having(self, fields: FieldSet) -> "Entry":
        return self if fields is self.fields else replace(self, fields=fields)


Managed: TypeAlias = dict[Identity, Entry]


def identity(manager: str, operation: str, version: str, subresource: str) -> Identity:
    return Identity(manager, operation, version if operation == UPDATE else "", subresource)


def decode(raw: Iterable[Object] | None, trusted: bool = False) -> Managed:
    """The entries of an object; `trusted` ones were written here. Raises ValueError for those that are malformed."""
    out: Managed = {}
    for index, entry in enumerate(raw or ()):
        decoded = _entry(entry) if trusted else _checked(entry, index)
        out[decoded.identity] = decoded
    return out


def _entry(raw: Object) -> Entry:
    operation, version = raw["operation"], raw["apiVersion"]
    who = identity(raw.get("manager", ""), operation, version, raw.get("subresource", ""))
    return Entry(who, version, raw.get("fieldsV1") or {}, raw.get("time") or "")


def _checked(raw: Any, index: int) -> Entry:
    if type(raw) is not dict:
        raise ValueError("a managed fields entry must be an object")
    if raw.get("operation") not in (APPLY, UPDATE):
        raise ValueError("operation must be `Apply` or `Update`")
    if not raw.get("apiVersion"):
        raise ValueError("apiVersion must not be empty")
    kind = raw.get("fieldsType", "")
    if not kind:
        raise ValueError(f"missing fieldsType in managed fields entry {index}")
    if kind != "FieldsV1":
        raise ValueError(f'invalid fieldsType "{kind}" in managed fields entry {index}')
    entry = _entry(raw)
    return replace(entry, fields=fieldset.decode(entry.fields), time=_in_utc(entry.time))


def _in_utc(time: str) -> str:
    if not time or (len(time) == 20 and time.endswith("Z")):
        return time
    return times.written(datetime.fromisoformat(time))


def encode(managed: Managed) -> list[Object]:
    """The entries for the wire: appliers before updaters, the longest unchanged first."""
    every = list(managed.values())
    if len(every) > 1:
        every.sort(key=_order)
    return [_encoded(entry) for entry in every]


def _order(entry: Entry) -> tuple[str, str, str, str, str]:
    who = entry.identity
    return (who.operation, entry.time, who.manager, entry.version, who.subresource)


def _encoded(entry: Entry) -> Object:
    who = entry.identity
    out: Object = {"manager": who.manager, "operation": who.operation, "apiVersion": entry.version}
    if entry.time:
        out["time"] = entry.time
    out["fieldsType"] = "FieldsV1"
    out["fieldsV1"] = entry.fields
    if who.subresource:
        out["subresource"] = who.subresource
    return out


def is_reset(raw: Any) -> bool:
    """Whether a request asks to forget all managers: an empty list, or one empty entry."""
    return raw in ([], [{}])


def keep_times(new: Object, old: Object) -> Object:
    """`new`, with the times of `old` where the two differ in nothing else; so that writing nothing new writes nothing.

    Call it last before an update is stored, when defaults and resets have had their say.
    """
    ours, theirs = new["metadata"].get("managedFields") or [], old["metadata"].get("managedFields") or []
    if not ours or len(ours) != len(theirs) or ours == theirs:
        return new
    if any(_timeless(left) != _timeless(right) for left, right in zip(ours, theirs, strict=True)):
        return new
    reverted = {**new, "metadata": {**new["metadata"], "managedFields": theirs}}
    return reverted if reverted == old else new


def _timeless(entry: Object) -> Object:
    return {name: value for name, value in entry.items() if name != "time"}
