"""DataImportCrons as the cron templates of an SSP order them (G5)."""

import hashlib
from dataclasses import dataclass
from typing import Final

import msgspec

from ingot.api.cdi.names import FROM_TEMPLATE
from ingot.api.kubevirt.names import TEMPLATE_DIGEST
from ingot.api.object import Object
from ingot.api.resources import DATA_IMPORT_CRONS
from ingot.api.ssp.ssp import TEMPLATES, place_of
from ingot.control.golden import common
from ingot.control.volumes.marks import annotation
from ingot.kube.cache import Key

# Of a template that says none, as the seed's. Crons spread their polls by themselves.
SCHEDULE: Final = "0 */12 * * *"


class Given(msgspec.Struct):
    """The keys of the labels and annotations that a cron has from its template."""

    labels: list[str] = []
    annotations: list[str] = []


@dataclass(frozen=True, slots=True)
class Order:
    """One cron template: the cron goes to `key`, and keeps `source` fresh there."""

    key: Key
    template: Object

    @property
    def source(self) -> str:
        return str(self.template["spec"]["managedDataSource"])

    @property
    def is_common(self) -> bool:
        """Whether it is about a DataSource that the common templates name."""
        return self.key.namespace == common.NAMESPACE and self.source in common.sources()

    @property
    def spec(self) -> Object:
        return {"schedule": SCHEDULE, **self.template["spec"]}

    def cron(self) -> Object:
        """The cron as it begins, undressed."""
        return {
            "apiVersion": DATA_IMPORT_CRONS.api_version,
            "kind": DATA_IMPORT_CRONS.kind,
            "metadata": {"name": self.key.name, "namespace": self.key.namespace},
            "spec": self.spec,
        }

    def dress(self, cron: Object) -> None:
        """Give a cron the labels and annotations of its template, in place of those that it had of it before; others
        that it has stay."""
        metadata, before = cron["metadata"], given(cron)
        labels, notes = (dict(self.template["metadata"].get(field) or {}) for field in ("labels", "annotations"))
        now = Given(sorted(labels), sorted(notes))
        notes |= {FROM_TEMPLATE: msgspec.json.encode(now).decode(), TEMPLATE_DIGEST: _digest(self.spec)}
        metadata["labels"] = _without(metadata.get("labels"), before.labels) | labels
        metadata["annotations"] = _without(metadata.get("annotations"), before.annotations) | notes

    def is_outdated(self, cron: Object) -> bool:
        """Whether the cron was made of another template. Its spec cannot be changed, so that it has to be made anew."""
        noted = (cron["metadata"].get("annotations") or {}).get(TEMPLATE_DIGEST)
        return noted != _digest(self.spec) and _told(cron["spec"]) != self.spec


def given(cron: Object) -> Given:
    """What a cron has from its template. Anybody may write there: what cannot be read is nothing."""
    try:
        return msgspec.json.decode(annotation(cron, FROM_TEMPLATE), type=Given)
    except (msgspec.MsgspecError, RecursionError):
        return Given()


def orders_of(ssp: Object) -> list[Order]:
    """The cron templates of an SSP, in their order."""
    listed = ((ssp.get("spec") or {}).get("commonTemplates") or {}).get(TEMPLATES) or ()
    return [Order(Key(*place_of(each)), each) for each in listed]


def _without(notes: dict[str, str] | None, keys: list[str]) -> dict[str, str]:
    return {key: text for key, text in (notes or {}).items() if key not in keys}


def _told(spec: Object) -> Object:
    """The spec without what the server adds to it."""
    return {key: value for key, value in spec.items() if key != "createdBy"}


def _digest(spec: Object) -> str:
    return hashlib.sha256(msgspec.json.encode(spec, order="sorted")).hexdigest()[:16]
