"""What the kinds of snapshots share."""

from typing import Annotated, Literal, TypeAlias

from ingot.api.machinery import UNSET, Field, Opt, Rule, Shape, Time
from ingot.api.machinery.meta import Condition

GROUP, VERSION = "snapshot.kubevirt.io", "v1beta1"

UNCHANGED = Rule("self.spec == oldSelf.spec", "spec is immutable after creation: make another one", ".spec")


class MachineReference(Shape):
    """A VirtualMachine in the same namespace."""

    api_group: Annotated[Literal["kubevirt.io"], Field("The group of its API.")]
    kind: Annotated[Literal["VirtualMachine"], Field("Its kind.")]
    name: Annotated[str, Field("Its name.", min_length=1)]


class Failure(Shape):
    """What went wrong last."""

    time: Annotated[Opt[Time | None], Field("When.")] = UNSET
    message: Annotated[Opt[str], Field("What, for a person.")] = UNSET


Conditions: TypeAlias = Annotated[list[Condition], Field("Ready, Progressing and Failure.", list_type="atomic")]
