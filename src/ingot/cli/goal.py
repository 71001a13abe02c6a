"""What `ingot wait` waits for, as `--for` says it."""

import re
from dataclasses import dataclass
from typing import Any, Protocol

import click

from ingot.api.object import Object, uid_of
from ingot.kube.objects import condition

FORMS = "condition=NAME[=STATUS], jsonpath={PATH}[=VALUE], create or delete"


class Goal(Protocol):
    """`needs_object` is whether there is no point in waiting for an object that is not there."""

    @property
    def needs_object(self) -> bool: ...

    def met(self, obj: Object | None) -> bool:
        """Whether an object, or its absence, is what is waited for."""

    def seen(self, obj: Object | None) -> str:
        """How far it is, for a person."""

    def __str__(self) -> str:
        """What is waited for, for a person."""


@dataclass(frozen=True, slots=True)
class Condition:
    kind: str
    status: str = "True"
    needs_object: bool = True

    def met(self, obj: Object | None) -> bool:
        found = self._found(obj)
        if obj is None or found is None or str(found.get("status", "")).lower() != self.status.lower():
            return False
        # A condition that was written before the last change of the spec says nothing about it.
        return int(found.get("observedGeneration") or 0) >= int(obj["metadata"].get("generation") or 0) or (
            "observedGeneration" not in found
        )

    def _found(self, obj: Object | None) -> Object | None:
        for entry in ((obj or {}).get("status") or {}).get("conditions") or ():
            if str(entry.get("type", "")).lower() == self.kind.lower():
                return condition(obj or {}, entry["type"])
        return None

    def seen(self, obj: Object | None) -> str:
        if obj is None:
            return "it is not there"
        found = self._found(obj)
        if found is None:
            known = [str(entry.get("type")) for entry in (obj.get("status") or {}).get("conditions") or ()]
            return f"it has no condition {self.kind}" + (f" (it has {', '.join(known)})" if known else " yet")
        why = ": ".join(str(found[key]) for key in ("reason", "message") if found.get(key))
        return f"{self.kind} is {found.get('status')}" + (f" ({why})" if why else "")

    def __str__(self) -> str:
        return f"condition {self.kind}={self.status}"


@dataclass(frozen=True, slots=True)
class Created:
    needs_object: bool = False

    def met(self, obj: Object | None) -> bool:
        return obj is not None

    def seen(self, obj: Object | None) -> str:
        return "it is there" if obj else "it is not there"

    def __str__(self) -> str:
        return "creation"


@dataclass(frozen=True, slots=True)
class Deleted:
    """The object with this uid is gone, whatever has its name now. `holder` is who is known to keep it, if anybody."""

    uid: str = ""
    holder: str = ""
    needs_object: bool = False

    def met(self, obj: Object | None) -> bool:
        return obj is None or bool(self.uid and uid_of(obj) != self.uid)

    def seen(self, obj: Object | None) -> str:
        if obj is None:
            return "it is gone"
        metadata = obj["metadata"]
        if not metadata.get("deletionTimestamp"):
            return "it is there, and nobody has deleted it"
        if self.holder:
            return f"it is deleted, and kept until {self.holder} has ended"
        if finalizers := metadata.get("finalizers"):
            return f"it is deleted, but kept by its finalizers: {', '.join(finalizers)}"
        return _held(obj)

    def __str__(self) -> str:
        return "deletion"


def _held(obj: Object) -> str:
    """Why an object without finalizers lives on: a namespace says so in its conditions, a pod has time to end."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    said = [str(each.get("message")) for each in conditions if each.get("status") == "True" and each.get("message")]
    return f"it is deleted, and being cleaned up: {'; '.join(said)}" if said else "it is deleted, and ending"


@dataclass(frozen=True, slots=True)
class Field:
    """A field has a value, or any value."""

    path: str
    value: str | None = None
    needs_object: bool = True

    def met(self, obj: Object | None) -> bool:
        found = self._values(obj)
        return bool(found) if self.value is None else self.value in [_text(value) for value in found]

    def _values(self, obj: Object | None) -> list[Any]:
        from ingot.standalone.table.jsonpath import find

        return find(self.path, obj or {})

    def seen(self, obj: Object | None) -> str:
        found = ", ".join(_text(value) for value in self._values(obj))
        return f"{self.path} is {found or 'not set'}" if obj else "it is not there"

    def __str__(self) -> str:
        return f"{self.path}={self.value}" if self.value is not None else f"a value of {self.path}"


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def parse(text: str) -> Goal:
    """The goal that `--for` names. Raises BadParameter."""
    word, _, rest = text.partition("=")
    if text in ("create", "delete"):
        return Created() if text == "create" else Deleted()
    if word == "condition" and rest:
        kind, _, status = rest.partition("=")
        return Condition(kind, status or "True")
    if word == "jsonpath" and rest:
        return _field(rest)
    raise click.BadParameter(f'"{text}" is none of {FORMS}', param_hint="--for")


def _field(text: str) -> Field:
    """`{PATH}=VALUE`: quotes around either that a shell left there are not meant, and braces may be missing."""
    from ingot.standalone.table.jsonpath import JsonPathError, compile_path

    found = re.fullmatch(r"""['"]?\{(.+)\}['"]?(?:=(.*))?""", text) or re.fullmatch(r"([^={}]+)(?:=(.*))?", text)
    if found is None:
        raise click.BadParameter(f'"{text}" is not {{PATH}} or {{PATH}}=VALUE', param_hint="--for")
    path = found[1] if found[1].startswith((".", "[", "$")) else f".{found[1]}"
    try:
        compile_path(path)
    except JsonPathError as error:
        raise click.BadParameter(str(error), param_hint="--for") from error
    return Field(path, None if found[2] is None else found[2].strip("'\""))
