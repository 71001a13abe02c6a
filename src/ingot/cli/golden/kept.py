"""A version of a golden image that is kept, or is on its way: a DataVolume with its claim, or a snapshot."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.cli.deleting import Victim
from ingot.cli.volume.state import FAILED, SUCCEEDED, phase_of
from ingot.kube.objects import condition

# Digits of a digest that tell versions apart, in names and for people.
DIGITS = 12
_DIGITS = re.compile(rf"(?<=.)-(?=[0-9a-f]{{{DIGITS}}}(?:-.|$))")


@dataclass(frozen=True, slots=True)
class Kept:
    """One of both is there at least: the DataVolume that was imported, and the claim or snapshot that holds it."""

    volume: Object | None
    holder: Object | None
    notes: dict[str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        both = [(obj or {}).get("metadata", {}).get("annotations") or {} for obj in (self.holder, self.volume)]
        object.__setattr__(self, "notes", both[0] | both[1])

    @property
    def any(self) -> Object:
        found = self.volume or self.holder
        assert found
        return found

    @property
    def name(self) -> str:
        return name_of(self.any)

    @property
    def key(self) -> tuple[str, str]:
        return namespace_of(self.any), self.name

    @property
    def field(self) -> str:
        """What of a DataSource's source names it. Lists do not tell kinds, and every claim has access modes."""
        spec = (self.holder or {}).get("spec") or {}
        return "snapshot" if self.holder and "accessModes" not in spec else "pvc"

    @property
    def resource(self) -> Resource:
        """What `any` is one of."""
        return DATA_VOLUMES if self.volume else SNAPSHOTS if self.field == "snapshot" else VOLUME_CLAIMS

    @property
    def victim(self) -> Victim:
        """What to delete, so that nothing of it is left."""
        namespace, name = self.key
        return Victim(f"{self.resource.kind.lower()}/{name}", self.resource, name, namespace, uid_of(self.any))

    @property
    def digest(self) -> str:
        """As sha256:…; "" for one that was not imported by a version."""
        return self.notes.get(names.DESIRED_DIGEST, "")

    @property
    def image(self) -> str:
        """The image that it is named after, of one with a digest."""
        return self.name.partition(f"-{short(self.digest)}")[0]

    @property
    def cron(self) -> str:
        """The cron that it says has made it; "" for none."""
        return str((self.any["metadata"].get("labels") or {}).get(names.IMPORT_CRON, ""))

    @property
    def version(self) -> str:
        """What a person calls it: its tag, a date, a file; else its name."""
        return self.notes.get(names.VERSION) or short(self.digest) or self.name

    @property
    def title(self) -> str:
        """The version, and what tells it from others of that tag."""
        told = self.notes.get(names.VERSION) and self.digest
        return f"{self.version}@{short(self.digest)[:8]}" if told else self.version

    @property
    def made(self) -> str:
        """When its bytes were complete; before that, when the import began."""
        ready = condition(self.volume or {}, "Ready") or {}
        since = ready.get("lastTransitionTime") if ready.get("status") == "True" else None
        return str(since or self.any["metadata"].get("creationTimestamp", ""))

    @property
    def order(self) -> tuple[str, str]:
        """Older ones come first."""
        return str(self.any["metadata"].get("creationTimestamp", "")), self.notes.get(names.LAST_USE, "")

    @property
    def served(self) -> tuple[str, str]:
        """Those that their image came to earlier come first, and before them those that it never came to."""
        made, used = self.order
        return used, made

    @property
    def size(self) -> str:
        status = (self.holder or {}).get("status") or {}
        return str((status.get("capacity") or {}).get("storage") or status.get("restoreSize") or "")

    @property
    def storage_class(self) -> str:
        """Where it is; "" where that is not known."""
        spec = (self.volume or {}).get("spec") or {}
        wish = spec.get("storage") or spec.get("pvc") or {}
        claim = (self.holder or {}).get("spec") or {}
        return str(claim.get("storageClassName") or wish.get("storageClassName") or "")

    @property
    def is_usable(self) -> bool:
        if self.volume is not None:
            return phase_of(self.volume) == SUCCEEDED
        status = (self.holder or {}).get("status") or {}
        return bool(status.get("readyToUse") or status.get("phase") == "Bound")

    @property
    def has_failed(self) -> bool:
        return self.volume is not None and phase_of(self.volume) == FAILED

    @property
    def failed_at(self) -> str:
        """When it was last seen to have failed: once its source has been asked after that, it is tried again."""
        ready = condition(self.volume or {}, "Ready") or {}
        return str(ready.get("lastHeartbeatTime") or ready.get("lastTransitionTime") or "")

    @property
    def progress(self) -> str:
        """How far an import is, as CDI writes it: `12.34%`, or "" where nobody knows."""
        said = str(((self.volume or {}).get("status") or {}).get("progress") or "")
        return said if said.endswith("%") else ""


def images_of(name: str) -> Iterator[str]:
    """The images that a claim or snapshot of this name is, or was, a version of, as far as names tell."""
    for found in _DIGITS.finditer(name):
        yield name[: found.start()]


def short(digest: str) -> str:
    """The first digits of a digest."""
    return digest.rpartition(":")[2][:DIGITS]
