"""Template: objects with parameters, such as a virtual machine that starts from a golden image (G7)."""

from typing import Annotated, Literal

import msgspec

from ingot.api.machinery import UNSET, Column, Field, Kind, Opt, Raw, Rule, Shape, Version, kind
from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.api.template.depth import TOO_DEEP, too_deep


class Parameter(Shape, kw_only=True):
    """A value that is filled in for ${NAME} as text, and for ${{NAME}} as it is."""

    RULES = (
        Rule(
            "!has(self.generate) || has(self.from)",
            "generate needs from, the expression to make a value of",
            ".generate",
        ),
    )

    name: Annotated[str, Field("The parameter's name.", pattern=r"^[a-zA-Z0-9_]+$", max_length=256)]
    display_name: Annotated[Opt[str], Field("The name that a form shows.")] = UNSET
    description: Annotated[Opt[str], Field("What the parameter is for.")] = UNSET
    value: Annotated[Opt[str], Field("The value, unless another one is given.")] = UNSET
    generate: Annotated[Opt[Literal["expression"]], Field("Whether a value is made when none is given.")] = UNSET
    expression: Annotated[Opt[str], Field("What a made value looks like, as in [a-z0-9]{8}.")] = msgspec.field(
        default=UNSET, name="from"
    )
    required: Annotated[Opt[bool], Field("Whether there must be a value.")] = UNSET


def _validate(new: Object, _old: Object | None) -> list[Cause]:
    faults = []
    for index, inner in enumerate(new["objects"]):
        for field in ("apiVersion", "kind"):
            if not isinstance(inner.get(field), str) or not inner[field]:
                message = f"Required value: the object's {field} is expected"
                faults.append(Cause(f"objects[{index}].{field}", message, "FieldValueRequired"))
        if too_deep(inner):
            faults.append(Cause(f"objects[{index}]", f"Invalid value: {TOO_DEEP}"))
    return faults


@kind(
    group="template.openshift.io",
    plural="templates",
    versions=(Version("v1"),),
    columns=(
        Column("Description", ".metadata.annotations.description", doc="What the template makes."),
        Column("Age", ".metadata.creationTimestamp", "date"),
    ),
    status=False,
    validate=_validate,
)
class Template(Kind, kw_only=True):
    """Objects with parameters, which are filled in when the objects are made."""

    message: Annotated[Opt[str], Field("What to tell the person who used the template.")] = UNSET
    objects: Annotated[list[Raw], Field("The objects to make.", list_type="atomic")]
    parameters: Annotated[
        Opt[list[Parameter]],
        Field("The parameters of the objects.", list_type="map", keys=("name",), max_items=1000),
    ] = UNSET
    labels: Annotated[Opt[dict[str, str]], Field("Labels that each object made gets.")] = UNSET
