"""Which version a DataSource is to stand for."""

import hashlib
from dataclasses import dataclass

from ingot.api.cdi import names
from ingot.api.object import Object, name_of
from ingot.control.golden.imports import CLASS_DIGITS, DIGITS, Import
from ingot.control.volumes.claim import class_of, wish_of
from ingot.control.volumes.marks import annotation
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.kube.cache import Cache


@dataclass(frozen=True, slots=True)
class Wanted:
    """`digest` is of the version; `newest` of the newest one that was seen. Both are "" where there is none. `name` is
    what people call the newest, `checksum` what its file must have. `storage_class` is for imports, None while there is
    none to choose."""

    digest: str
    newest: str
    name: str
    checksum: str
    storage_class: str | None

    @property
    def is_newest(self) -> bool:
        return self.digest == self.newest

    def is_met_by(self, found: Import) -> bool:
        """Whether an import is of that version, and in that class."""
        if not self.digest or found.digest != self.digest:
            return False
        return self.storage_class is None or found.storage_class in (self.storage_class, None)


def wanted_of(cron: Object, classes: Cache) -> Wanted:
    """What the cron's annotations say. Anybody may write there: a newest version that is no digest is none. Where it is
    pinned to what is no digest, no version is wanted: it is to stay where it is."""
    newest = _digest(annotation(cron, names.DESIRED_DIGEST))
    digest = "" if bad_pin(cron) else pinned_to(cron) or newest
    wish = wish_of(cron["spec"]["template"])
    found = class_of(wish, classes)
    return Wanted(
        digest=digest,
        newest=newest,
        name=annotation(cron, names.NEWEST_VERSION),
        checksum=annotation(cron, names.NEWEST_CHECKSUM),
        # An older version is taken wherever it is: it cannot be imported anew.
        storage_class=None if digest != newest else name_of(found) if found else wish.get("storageClassName"),
    )


def pinned_to(cron: Object) -> str:
    """The digest that the cron is to stay at; "" for none."""
    return _digest(annotation(cron, names.PINNED))


def bad_pin(cron: Object) -> str:
    """What the cron is pinned to, where that is no digest; "" else."""
    return "" if pinned_to(cron) else annotation(cron, names.PINNED)


def _digest(text: str) -> str:
    try:
        return str(Digest.parse(text))
    except ImageFault:
        return ""


def import_name(cron: Object, wanted: Wanted, others: list[Import]) -> str:
    """The name of the wanted import. One that is in another StorageClass keeps the name that it has."""
    digits = wanted.digest.partition(":")[2][:DIGITS]
    name = f"{cron['spec']['managedDataSource']}-{digits}"
    if any(other.name == name and not wanted.is_met_by(other) for other in others):
        return f"{name}-{hashlib.sha256((wanted.storage_class or '').encode()).hexdigest()[:CLASS_DIGITS]}"
    return name


def short(digest: str) -> str:
    """A digest for people."""
    algorithm, colon, digits = digest.partition(":")
    return f"{algorithm}{colon}{digits[:DIGITS]}"
