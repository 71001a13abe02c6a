"""Conditions as the kinds of cdi.kubevirt.io write them."""

from typing import Annotated, Literal, TypeAlias

from ingot.api.machinery import UNSET, Field, Opt, Shape, Time


class Condition(Shape, kw_only=True):
    """One observation of an object's state."""

    type: Annotated[str, Field("What is observed, such as Ready.")]
    status: Annotated[Literal["True", "False", "Unknown"], Field("Whether it holds.")]
    reason: Annotated[Opt[str], Field("Why, in one CamelCase word.")] = UNSET
    message: Annotated[Opt[str], Field("Why, for a person.")] = UNSET
    last_transition_time: Annotated[Opt[Time], Field("When the status last changed.")] = UNSET
    last_heartbeat_time: Annotated[Opt[Time], Field("When any of this last changed.")] = UNSET


Conditions: TypeAlias = Annotated[
    list[Condition], Field("What is known of the object's state.", list_type="map", keys=("type",))
]
