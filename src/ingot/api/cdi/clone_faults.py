"""Why a volume cannot be a clone of what it names: said when it is made, and by the controller of what comes later."""

from dataclasses import dataclass
from typing import Final

from ingot.api.cdi import content, size
from ingot.api.cdi.names import DISK, FILES
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.quantity import written
from ingot.api.resource import Resource
from ingot.api.resources import VOLUME_CLAIMS

SIZE: Final = "resources.requests.storage"


@dataclass(frozen=True, slots=True)
class Origin:
    """What is cloned: a claim or a snapshot, as it is stored, and the claim that the latter was taken of, if known."""

    kind: Resource
    found: Object
    former: Object | None = None

    def __str__(self) -> str:
        return f'{self.kind.kind} "{namespace_of(self.found)}/{name_of(self.found)}"'

    @property
    def content_type(self) -> str:
        """What it holds; "" where that is not known: of a snapshot that nobody noted it of, and of a claim that is
        filled later. A claim that was filled and says nothing has a disk."""
        if held := self.told:
            return FILES if held == FILES else DISK
        return DISK if self.kind == VOLUME_CLAIMS and self.found["spec"].get("volumeName") else ""

    @property
    def told(self) -> str:
        """What it says itself that it holds, or the claim does that it was taken of; "" where neither does."""
        if self.kind == VOLUME_CLAIMS:
            return content.told(self.found)
        return content.of_snapshot(self.found, self.former)

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
