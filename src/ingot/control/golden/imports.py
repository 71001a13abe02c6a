"""Imports of a cron: each is a DataVolume, later its claim alone if it was to be so, that holds one version."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import DATA_VOLUMES, VOLUME_CLAIMS
from ingot.control.storage import is_leaving
from ingot.control.volumes.claim import wish_of
from ingot.control.volumes.detection import LOOKING
from ingot.control.volumes.marks import annotation, is_bound, phase_of
from ingot.control.volumes.status import FAILED, READY, RUNNING, SUCCEEDED, told_by
from ingot.kube.cache import Key, key_of
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, is_deleting

# How many digits of its digest are in the name of an import; and of its StorageClass, where one of that name is there.
DIGITS, CLASS_DIGITS = 12, 6
_VERSIONED = re.compile(rf"-[0-9a-f]{{{DIGITS}}}(-[0-9a-f]{{{CLASS_DIGITS}}})?$")
_BY_CRON = "import-cron"


@dataclass(frozen=True, slots=True)
class Import:
    """`volume` is the DataVolume, and `claim` its claim: one of them is there at least."""

    volume: Object | None
    claim: Object | None

    @property
    def any(self) -> Object:
        """The one that stands for both, and is deleted for both."""
        found = self.volume or self.claim
        assert found is not None
        return found

    @property
    def key(self) -> Key:
        return key_of(self.any)

    @property
    def name(self) -> str:
        return name_of(self.any)

    @property
    def digest(self) -> str:
        return annotation(self.any, names.DESIRED_DIGEST)

    @property
    def is_named(self) -> bool:
        """Whether it is called after its version, as imports are.

        What merely has their labels and annotations, such as a volume made from a copy of their manifests, is
        somebody's own: the DataSource does not go there, and it is no garbage.
        """
        digits = self.digest.partition(":")[2][:DIGITS]
        _, found, rest = self.name.rpartition(f"-{digits}")
        return len(digits) == DIGITS and bool(found) and len(rest) in (0, 1 + CLASS_DIGITS)

    @property
    def version(self) -> str:
        """What people call it."""
        return annotation(self.any, names.VERSION) or self.digest

    @property
    def storage_class(self) -> str | None:
        """None where nobody knows yet."""
        spec = self.claim["spec"] if self.claim else wish_of(self.any)
        name = spec.get("storageClassName")
        return None if name is None else str(name)

    @property
    def last_use(self) -> str:
        """When the DataSource came to it, so that the one that was left last sorts last."""
        return annotation(self.any, names.LAST_USE) or str(self.any["metadata"].get("creationTimestamp", ""))

    def has_served_before(self, other: "Import") -> bool:
        """Whether the DataSource has stood for it, and it is the older of the two."""
        mine, others = (str(each.any["metadata"].get("creationTimestamp", "")) for each in (self, other))
        return self.has_served and mine <= others

    @property
    def is_leaving(self) -> bool:
        return is_deleting(self.any) or bool(self.claim and is_deleting(self.claim))

    @property
    def is_ready(self) -> bool:
        """Whether all of it is there and was checked, and stays."""
        if self.claim is None or self.is_leaving or not is_bound(self.claim):
            return False
        if self.volume is None:
            return not annotation(self.claim, names.FAILURE)
        return phase_of(self.volume) == SUCCEEDED

    @property
    def has_failed(self) -> bool:
        return self.volume is not None and phase_of(self.volume) == FAILED

    @property
    def has_been_complete(self) -> bool:
        """Whether all of it was there once, whatever is said of it now: a phase is lost with a status, and anybody may
        write on a claim."""
        return self.volume is None or phase_of(self.volume) == SUCCEEDED or self.has_served or self.has_volume

    @property
    def has_served(self) -> bool:
        """Whether the DataSource has stood for it."""
        return bool(annotation(self.any, names.LAST_USE))

    @property
    def has_volume(self) -> bool:
        """Whether its claim is bound, as claims are when every byte is there, and not to a volume of somebody else."""
        if self.claim is None or not is_bound(self.claim):
            return False
        fault = told_by(self.claim)
        return fault is None or fault.reason != names.FOREIGN_VOLUME

    @property
    def is_unfinished(self) -> bool:
        """Whether it never was complete, and is not about to go."""
        return not self.has_been_complete and not self.is_leaving

    @property
    def is_version(self) -> bool:
        """Whether it is complete, or was and is not on its way there again: it counts among those that are kept."""
        return self.has_been_complete and not self.is_under_way and not self.is_leaving

    @property
    def is_under_way(self) -> bool:
        is_whole = self.is_ready or (self.has_served and self.has_volume)
        return not is_whole and not self.has_failed and not self.is_leaving

    @property
    def settled(self) -> str:
        """When it became what it is: complete, or failed."""
        ready = condition(self.any, READY) or {}
        at = ready.get("lastHeartbeatTime" if self.has_failed else "lastTransitionTime")
        return str(at or self.any["metadata"].get("creationTimestamp", ""))

    @property
    def is_stuck(self) -> bool:
        """Whether it gets nowhere as things are: something is in the way, or was tried in vain."""
        running, ready = (condition(self.any, kind) or {} for kind in (RUNNING, READY))
        tried = running.get("status") != "True" and "tried again" in str(running.get("message", ""))
        return tried or bool(ready.get("message") and ready.get("reason") != LOOKING)

    @property
    def trouble(self) -> str:
        """Why it is stuck, or has failed, in the words of its conditions."""
        found = [condition(self.any, kind) or {} for kind in (READY, RUNNING)]
        return next((str(each["message"]) for each in found if each.get("message")), "")


def is_named_after_version(name: str) -> bool:
    """Whether a claim is called as imports and published versions are, as far as its name tells."""
    return _VERSIONED.search(name) is not None


def cron_of(obj: Object) -> Key | None:
    """The cron that an import or a DataSource says it belongs to."""
    name = (obj["metadata"].get("labels") or {}).get(names.IMPORT_CRON)
    return Key(namespace_of(obj), name) if name else None


def _by_cron(obj: Object) -> Iterable[str]:
    key = cron_of(obj)
    return [str(key)] if key and not annotation(obj, names.PRIME_FOR) else []


class Imports:
    """All imports, by cron, out of the caches."""

    def __init__(self, manager: Manager) -> None:
        self.volumes = manager.informer(DATA_VOLUMES)
        self.claims = manager.informer(VOLUME_CLAIMS)
        for informer in (self.volumes, self.claims):
            informer.cache.add_index(_BY_CRON, _by_cron)

    def of(self, cron: Key) -> list[Import]:
        """Those that bear the cron's name: what an earlier cron of that name left behind is this one's."""
        volumes = self.volumes.cache.by_index(_BY_CRON, str(cron))
        found = [Import(volume, self.claims.cache.get(key_of(volume))) for volume in volumes]
        known = {each.key for each in found}
        for claim in self.claims.cache.by_index(_BY_CRON, str(cron)):
            if key_of(claim) not in known and not is_leaving(claim):
                found.append(Import(None, claim))
        return [each for each in found if each.is_named]

    def cron_of_claim(self, key: Key) -> list[Key]:
        """The cron whose import that claim is, if it is one."""
        found = self.volumes.cache.get(key) or self.claims.cache.get(key)
        cron = cron_of(found) if found else None
        return [cron] if cron else []
