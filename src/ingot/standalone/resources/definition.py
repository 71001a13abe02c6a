"""What the API server knows of one kind: its names, versions, schemas and the rules that go with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ingot.api.object import Object, join_api_version
from ingot.api.status import Cause


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the Table form. `path` is a JSONPath such as `.spec.running`, or a function of the object."""

    name: str
    path: str | Callable[[Object], Any]
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the scale subresource finds its numbers in an object."""

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


@dataclass(slots=True)
class Version:
    """One served form of a kind. `schema` is resolved: every $ref is replaced by the dictionary that it names."""

    name: str
    schema: Object
    served: bool = True
    columns: Sequence[Column] = ()
    scale: Scale | None = None
    # The schema's name and the other schemas it refers to, for the OpenAPI document; () for a self-contained one.
    schema_name: str = ""
    deprecated: bool = False
    deprecation_warning: str = ""


def nothing(_: Object) -> None:
    """The default of a kind without defaults."""


def same(obj: Object) -> Object:
    """The stored form of a kind that is stored as it is served."""
    return obj


def no_causes(_new: Object, _old: Object | None) -> list[Cause]:
    """The validation of a kind without rules beyond its schema."""
    return []


@dataclass(slots=True)
class Definition:
    """One kind as the server serves it.

    Kubernetes' own kinds have `custom=False` and bring their rules as hooks; a custom resource's are in its schema.
    `default` fills an object in place; `validate(new, old)` returns what is wrong with it (old is None on create).
    `selectable` are the fields a field selector may name beside metadata.name and metadata.namespace.
    `ephemeral` kinds (reviews) are answered, never stored.
    """

    group: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    versions: dict[str, Version]
    storage_version: str
    short_names: Sequence[str] = ()
    categories: Sequence[str] = ()
    list_kind: str = ""
    custom: bool = False
    subresources: frozenset[str] = frozenset()
    verbs: Sequence[str] = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    selectable: Sequence[str] = ()
    # How a selector reads fields whose value is not just what stands there.
    selected: tuple[tuple[str, Callable[[Object], str]], ...] = ()
    ephemeral: bool = False
    default: Callable[[Object], None] = nothing
    validate: Callable[[Object, Object | None], list[Cause]] = no_causes
    # What a change of the status alone must satisfy, where that is less.
    validate_status: Callable[[Object, Object | None], list[Cause]] | None = None
    # What a change of anything but the status makes of it; the status itself is shared with the object before.
    settle: Callable[[Object], None] = nothing
    # What metadata.generation is at creation, and whether it counts changes: of Kubernetes' kinds some do the one, some
    # the other; custom resources do both.
    first_generation: int = 0
    has_generation: bool = False
    # A replace may create what is not there; a replace without a resourceVersion overwrites.
    create_on_update: bool = False
    unconditional_update: bool = True
    # A delete answers with the object rather than with a Status.
    returns_deleted: bool = False
    # Set where two groups serve one collection, as both groups of Event do, with the way to the stored form and back.
    storage_key: str = ""
    to_stored: Callable[[Object], Object] = same
    from_stored: Callable[[Object], Object] = same

    @property
    def key(self) -> str:
        """The storage name: `pods`, `datavolumes.cdi.kubevirt.io`."""
        return self.storage_key or self.qualified

    @property
    def qualified(self) -> str:
        """The plural as messages print it: `pods`, `datavolumes.cdi.kubevirt.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def api_version(self, version: str = "") -> str:
        return join_api_version(self.group, version or self.storage_version)
