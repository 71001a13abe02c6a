"""Imports in stages, which follow the snapshots of a running machine: all of a stored spec that may change."""

from typing import Annotated, TypeAlias

from ingot.api.machinery import Field, Shape

STAGED = (
    "has(self.spec.checkpoints) && size(self.spec.checkpoints) > 0 && has(self.spec.source) && "
    "(has(self.spec.source.vddk) || has(self.spec.source.imageio))"
)


class Checkpoint(Shape):
    """One stage of an import that follows a running machine's snapshots."""

    previous: Annotated[str, Field("The snapshot that the stage before ended with; empty for the first.")]
    current: Annotated[str, Field("The snapshot that this stage copies.")]


Checkpoints: TypeAlias = Annotated[list[Checkpoint], Field("The stages of a multi-stage import.", list_type="atomic")]
FinalCheckpoint: TypeAlias = Annotated[bool, Field("Whether the last checkpoint ends the import.")]


def kept_but_stages(*others: str) -> str:
    """A CEL expression: the spec is as it was, or is staged and none of these `others` of its fields differs."""
    return f"self.spec == oldSelf.spec || ({STAGED} && {' && '.join(_kept(field) for field in others)})"


def _kept(field: str) -> str:
    return (
        f"has(self.spec.{field}) == has(oldSelf.spec.{field}) && "
        f"(!has(self.spec.{field}) || self.spec.{field} == oldSelf.spec.{field})"
    )
