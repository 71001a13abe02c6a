"""Where kinds are registered that are not Ingot's own, and what they share."""

from typing import Annotated, Literal, TypeAlias

from ingot.api.machinery import UNSET, Field, KindInfo, Opt, Shape, Time

GROUP = "snapshot.storage.k8s.io"
KINDS: dict[tuple[str, str], KindInfo] = {}

DeletionPolicy: TypeAlias = Annotated[
    Literal["Delete", "Retain"],
    Field("Whether content and files go with the VolumeSnapshot, or stay."),
]


class SnapshotError(Shape):
    """The last thing that went wrong. It is tried again, and the error goes when that succeeds."""

    message: Annotated[Opt[str], Field("What went wrong.")] = UNSET
    time: Annotated[Opt[Time], Field("When.")] = UNSET
