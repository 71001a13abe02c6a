"""The registration of kinds: `@kind(...)` over a Shape says all that an API server must know of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from ingot.api.machinery.meta import ObjectMeta
from ingot.api.machinery.shape import Shape
from ingot.api.object import Object, join_api_version
from ingot.api.resource import Resource
from ingot.api.status import Cause

Converter = Callable[[Object], None]
# (new, old or None, operation: CREATE or UPDATE): changes new in place.
Mutator = Callable[[Object, Object | None, str], None]
Validator = Callable[[Object, Object | None], list[Cause]]


def unchanged(_: Object) -> None:
    """The converter of a version whose shape is the stored one's."""


def not_mutated(_new: Object, _old: Object | None, _operation: str) -> None:
    """The mutator of a kind that is taken as it comes."""


def not_faulted(_new: Object, _old: Object | None) -> list[Cause]:
    """The validator of a kind whose schema says everything."""
    return []


class Kind(Shape, kw_only=True):
    """The base of every kind: its fields are those of all Kubernetes objects."""

    INFO: ClassVar["KindInfo"]

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta

    def to_object(self) -> Object:
        """The dictionary for the wire; apiVersion and kind are the stored ones where they were left open."""
        said = {"apiVersion": self.INFO.api_version(), "kind": self.INFO.kind}
        return {**said, **super().to_object()}


@dataclass(frozen=True, slots=True)
class Column:
    """One printer column of `kubectl get`; one with a priority above 0 shows with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    doc: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the scale subresource finds its numbers."""

    spec: str = ".spec.replicas"
    status: str = ".status.replicas"
    selector: str = ".status.labelSelector"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a kind. The first of a kind's versions is the stored one.

    `overrides` maps a path (`spec.domain.devices.disks`, with `[]` for the items of a list) to the type that
    this version has there, or to a function from the stored version's schema to this one's. `upgrade` turns an
    object of this version into the stored shape, `downgrade` turns it back, both in place; apiVersion is set by
    the caller. Upgrading twice must change nothing more.
    """

    name: str
    served: bool = True
    overrides: Mapping[str, Any] = field(default_factory=dict)
    upgrade: Converter = unchanged
    downgrade: Converter = unchanged
    deprecated: bool = False
    deprecation_warning: str = ""


@dataclass(frozen=True, slots=True)
class KindInfo:
    """All that `@kind` was told. Columns are those of every version."""

    shape: type[Kind]
    group: str
    kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    namespaced: bool
    versions: tuple[Version, ...]
    columns: tuple[Column, ...]
    status: bool
    admit_status: bool
    guard_status: bool
    scale: Scale | None
    selectable: tuple[str, ...]
    mutate: Mutator
    validate: Validator

    @property
    def stored(self) -> Version:
        return self.versions[0]

    @property
    def crd_name(self) -> str:
        return f"{self.plural}.{self.group}"

    def version(self, name: str) -> Version | None:
        return next((each for each in self.versions if each.name == name), None)

    def api_version(self, version: str = "") -> str:
        return join_api_version(self.group, version or self.stored.name)


# Filled by importing the modules that declare kinds; ingot.api.registry imports them all.
KINDS: dict[tuple[str, str], KindInfo] = {}

K = TypeVar("K", bound=type[Kind])


def kind(
    *,
    group: str,
    plural: str,
    versions: tuple[Version, ...],
    name: str = "",
    singular: str = "",
    short_names: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
    namespaced: bool = True,
    columns: tuple[Column, ...] = (),
    status: bool = True,
    admit_status: bool = False,
    guard_status: bool = False,
    scale: Scale | None = None,
    selectable: tuple[str, ...] = (),
    mutate: Mutator = not_mutated,
    validate: Validator = not_faulted,
    among: dict[tuple[str, str], KindInfo] = KINDS,
) -> Callable[[K], K]:
    """Registers the decorated Kind. `name` is the kind on the wire, the class's own name unless told.

    `among` are Ingot's own kinds, unless told: others' are not installed on a cluster, which has them already.

    `mutate` and `validate` see plain dictionaries in the stored version's shape. They are asked about a write to
    the status subresource only with `admit_status`. With `guard_status` such a write may demand a right of its own.
    """

    def register(shape: K) -> K:
        known = name or shape.__name__
        info = KindInfo(
            shape=shape,
            group=group,
            kind=known,
            plural=plural,
            singular=singular or known.lower(),
            short_names=short_names,
            categories=categories,
            namespaced=namespaced,
            versions=versions,
            columns=columns,
            status=status,
            admit_status=admit_status,
            guard_status=guard_status,
            scale=scale,
            selectable=selectable,
            mutate=mutate,
            validate=validate,
        )
        if (group, known) in among and among[group, known].shape.__qualname__ != shape.__qualname__:
            raise TypeError(f"{known} of {group} is declared twice")
        among[group, known] = info
        shape.INFO = info
        return shape

    return register


def resource_of(shape: type[Kind], version: str = "") -> Resource:
    """The collection of a kind on the wire, in its stored version unless told."""
    info = shape.INFO
    return Resource(info.group, version or info.stored.name, info.plural, info.kind, info.namespaced)
