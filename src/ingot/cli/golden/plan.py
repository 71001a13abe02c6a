"""A new golden image from what was said on a command line: a DataImportCron that follows it, or a DataSource alone."""

from dataclasses import dataclass

import click

from ingot.api.cdi import names
from ingot.api.cdi.size import requested
from ingot.api.object import Object
from ingot.api.quantity import whole
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES
from ingot.cli.volume.place import read_source
from ingot.control.volumes.claim import wish_of
from ingot.images.fault import ImageFault
from ingot.images.pipeline.source import Kind, Source

FORMS = "HOST/REPOSITORY[:TAG] of a registry, or http(s)://…"


@dataclass(frozen=True, slots=True)
class Plan:
    """`source` is that of a DataVolume. Of the others "" and False are for what was not said."""

    name: str
    namespace: str
    source: Object
    schedule: str
    keep: int = 3
    size: str = ""
    storage_class: str = ""
    checksums: str = ""
    prereleases: bool = False

    def cron(self) -> Object:
        """Images stay when it is deleted: `ingot golden rm` removes them itself, unless it is told to keep them."""
        notes = {names.PRERELEASES: "true"} if self.prereleases else {}
        if self.checksums:
            notes[names.CHECKSUM_FILE] = self.checksums
        return {
            "apiVersion": DATA_IMPORT_CRONS.api_version,
            "kind": DATA_IMPORT_CRONS.kind,
            "metadata": {"name": self.name, "namespace": self.namespace, "annotations": notes},
            "spec": {
                "schedule": self.schedule,
                "managedDataSource": self.name,
                "template": {"spec": {"source": self.source, "storage": self._storage()}},
                "garbageCollect": "Outdated",
                "importsToKeep": self.keep,
                "retentionPolicy": "All",
            },
        }

    def is_larger(self, there: Object) -> bool:
        """Whether it says a size to which the disk of a version, a DataVolume that is there already, was not grown."""
        return bool(self.size) and (requested(wish_of(there)) or 0) < whole(self.size)

    def _storage(self) -> Object:
        storage: Object = {"resources": {"requests": {"storage": self.size}}} if self.size else {}
        return {**storage, "storageClassName": self.storage_class} if self.storage_class else storage


def followed_source(text: str, secret: str, certificates: str) -> Object:
    """The source of what REF names. Raises BadParameter, which says what would be accepted."""
    try:
        found = Source.parse(text)
    except ImageFault as fault:
        raise click.BadParameter(f"{fault.subject}: a golden image comes from {FORMS}") from fault
    if found.kind is Kind.FILE:
        raise click.BadParameter(
            f"{text} is a file of this computer, which has no versions: `ingot golden publish FILE` makes it a "
            f"golden image. Else one comes from {FORMS}"
        )
    if found.kind in (Kind.REGISTRY, Kind.HTTP):
        return read_source(text, secret, certificates)
    raise click.BadParameter(f"{found} has no versions that could be followed; a golden image comes from {FORMS}")


def link(name: str, namespace: str, claim: str) -> Object:
    """The DataSource of an image that nothing follows."""
    return {
        "apiVersion": DATA_SOURCES.api_version,
        "kind": DATA_SOURCES.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"source": {"pvc": {"namespace": namespace, "name": claim}}},
    }


def differences(wanted: Object, there: Object) -> list[str]:
    """The fields in which a cron that is there is not the one wanted, as far as that says anything."""
    fields = [key for key, value in wanted["spec"].items() if there["spec"].get(key) != value]
    said = wanted["metadata"]["annotations"]
    known = there["metadata"].get("annotations") or {}
    return [*fields, *(key for key in (names.PRERELEASES, names.CHECKSUM_FILE) if known.get(key) != said.get(key))]
