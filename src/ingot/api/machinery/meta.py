"""Types of Kubernetes' meta/v1 and core/v1 that our kinds are made of."""

from typing import Annotated, Any, Literal

from ingot.api.machinery.field import UNSET, Field, Opt
from ingot.api.machinery.scalar import Quantity, Time
from ingot.api.machinery.shape import Shape


class OwnerReference(Shape):
    """An object that this one belongs to, and with which it is deleted."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: Opt[bool] = UNSET
    block_owner_deletion: Opt[bool] = UNSET


class ObjectMeta(Shape):
    """What every object has. Its rules are Kubernetes' own, so no schema is made of it."""

    PRESERVE = True

    name: Opt[str] = UNSET
    generate_name: Opt[str] = UNSET
    namespace: Opt[str] = UNSET
    uid: Opt[str] = UNSET
    resource_version: Opt[str] = UNSET
    generation: Opt[int] = UNSET
    creation_timestamp: Opt[str | None] = UNSET
    deletion_timestamp: Opt[str] = UNSET
    deletion_grace_period_seconds: Opt[int] = UNSET
    labels: Opt[dict[str, str]] = UNSET
    annotations: Opt[dict[str, str]] = UNSET
    finalizers: Opt[list[str]] = UNSET
    owner_references: Opt[list[OwnerReference]] = UNSET
    managed_fields: Opt[list[dict[str, Any]]] = UNSET


class TemplateMeta(Shape):
    """The metadata that objects made from a template get."""

    PRESERVE = True

    name: Opt[str] = UNSET
    namespace: Opt[str] = UNSET
    labels: Opt[dict[str, str]] = UNSET
    annotations: Opt[dict[str, str]] = UNSET


class Condition(Shape):
    """One observation of an object's state."""

    type: Annotated[str, Field("What is observed, such as Ready.")]
    status: Annotated[Literal["True", "False", "Unknown"], Field("Whether it holds.")]
    reason: Annotated[Opt[str], Field("Why, in one CamelCase word.")] = UNSET
    message: Annotated[Opt[str], Field("Why, for a person.")] = UNSET
    last_probe_time: Annotated[Opt[Time | None], Field("When it was last looked at.")] = UNSET
    last_transition_time: Annotated[Opt[Time | None], Field("When the status last changed.")] = UNSET
    observed_generation: Annotated[Opt[int], Field("The generation that was observed.")] = UNSET


class LocalObjectReference(Shape):
    """The name of an object in the same namespace."""

    name: Annotated[str, Field("The object's name.")] = ""


class TypedReference(Shape, kw_only=True):
    """An object by its kind and name."""

    api_group: Annotated[Opt[str | None], Field("The group of its API; absent for core.")] = UNSET
    kind: Annotated[str, Field("Its kind.")]
    name: Annotated[str, Field("Its name.")]
    namespace: Annotated[Opt[str], Field("Its namespace, where it may be another one.")] = UNSET


class TypedLocalReference(Shape, kw_only=True):
    """An object in the same namespace, by its kind and name."""

    api_group: Annotated[Opt[str], Field("The group of its API; absent for core.")] = UNSET
    kind: Annotated[str, Field("Its kind.")]
    name: Annotated[str, Field("Its name.", min_length=1)]


class LabelRequirement(Shape):
    """One requirement of a label selector."""

    key: Annotated[str, Field("The label's key.")]
    operator: Annotated[str, Field("In, NotIn, Exists or DoesNotExist.")]
    values: Annotated[Opt[list[str]], Field("The values of In and NotIn.", list_type="atomic")] = UNSET


class LabelSelector(Shape):
    """Selects objects by their labels; all requirements must hold."""

    match_labels: Annotated[Opt[dict[str, str]], Field("Labels with exactly these values.")] = UNSET
    match_expressions: Annotated[Opt[list[LabelRequirement]], Field("Further requirements.", list_type="atomic")] = (
        UNSET
    )


class ResourceRequirements(Shape):
    """Amounts of resources: what is set aside, and what is not exceeded."""

    requests: Annotated[Opt[dict[str, Quantity]], Field("What is set aside.")] = UNSET
    limits: Annotated[Opt[dict[str, Quantity]], Field("What is not exceeded.")] = UNSET


AccessMode = Annotated[
    list[str], Field("ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.", list_type="atomic")
]


class ClaimSpec(Shape):
    """The spec of a PersistentVolumeClaim."""

    access_modes: Opt[AccessMode] = UNSET
    resources: Opt[ResourceRequirements] = UNSET
    storage_class_name: Annotated[Opt[str], Field("The StorageClass; absent for the default one.")] = UNSET
    volume_mode: Annotated[Opt[Literal["Block", "Filesystem"]], Field("What the volume is offered as.")] = UNSET
    volume_name: Annotated[Opt[str], Field("The PersistentVolume to bind to.")] = UNSET
    selector: Annotated[Opt[LabelSelector], Field("Which PersistentVolumes may be bound.")] = UNSET
    data_source: Annotated[Opt[TypedReference], Field("What the volume is filled from.")] = UNSET
    data_source_ref: Annotated[Opt[TypedReference], Field("What the volume is filled from.")] = UNSET
    volume_attributes_class_name: Annotated[Opt[str], Field("The VolumeAttributesClass.")] = UNSET
