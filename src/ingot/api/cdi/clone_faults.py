"""Why a volume cannot be a clone of what it names: said when it is made, and by the controller of what comes later."""

from dataclasses import dataclass
from typing import Final

from ingot.api.cdi import size
from ingot.api.cdi.names import CONTENT_TYPE, DISK, FILES
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.quantity import written
from ingot.api.resource import Resource
from ingot.api.resources import VOLUME_CLAIMS

SIZE: Final = "resources.requests.storage"


@dataclass(frozen=True, slots=True)
class Origin:
    """What is cloned: a claim or a snapshot, as it is stored."""

    kind: Resource
    found: Object

    def __str__(self) -> str:
        return f'{self.kind.kind} "{namespace_of(self.found)}/{name_of(self.found)}"'

    @property
    def content_type(self) -> str:
        """What it holds; "" where that is not known: of a snapshot, and of a claim that is filled later."""
        told = (self.found["metadata"].get("annotations") or {}).get(CONTENT_TYPE)
        if self.kind != VOLUME_CLAIMS or (not told and not self.found["spec"].get("volumeName")):
            return ""
        return FILES if told == FILES else DISK

    @property
    def is_block(self) -> bool:
        return bool(self.found["spec"].get("volumeMode") == "Block")


def wish_field(spec: Object) -> str:
    """The field of a DataVolume's spec that says which claim to make."""
    return "pvc" if "pvc" in spec else "storage"


def of_volume(spec: Object, origin: Origin) -> str:
    """Why a DataVolume with that spec cannot be a clone, whatever its StorageClass; "" where it may be one."""
    field = wish_field(spec)
    wish = spec[field]
    return other_content(spec, origin) or _surely_too_small(wish, f"spec.{field}.{SIZE}", origin, exact=field == "pvc")


def other_content(spec: Object, origin: Origin) -> str:
    """Why a DataVolume's contentType is not that of its origin, as far as it is known."""
    wanted, held = spec.get("contentType") or DISK, origin.content_type
    if held in ("", wanted):
        return ""
    holds = "the files of an archive" if held == FILES else "a disk"
    return (
        f"Source contentType ({held}) and target contentType ({wanted}) do not match: {origin} holds {holds}; "
        f"spec.contentType: {held} is expected"
    )


def too_small(asked: int, field: str, origin: Origin, needed: int | None) -> str:
    """Why a claim of `asked` bytes, which `field` asks for, has no room for all of the origin."""
    if needed is None or asked >= needed:
        return ""
    return f"{field}: {written(asked)} is less than the {written(needed)} of {origin}; at least that is expected"


def _surely_too_small(wish: Object, field: str, origin: Origin, *, exact: bool) -> str:
    """A claim that is ours to make may become larger than was asked for, by the room that a filesystem takes."""
    asked, needed = size.requested(wish), size.least_clone(origin.kind, origin.found)
    if asked is None or needed is None:
        return ""
    exact = exact or origin.is_block or wish.get("volumeMode") == "Block"
    return too_small(asked, field, origin, needed) if exact or size.with_overhead(asked) < needed else ""
