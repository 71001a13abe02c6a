"""The DataVolume of an import: the cron's template, at exactly the version that was seen."""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress

import msgspec

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import DATA_VOLUMES
from ingot.control.golden.imports import Import
from ingot.control.golden.wanted import Wanted
from ingot.control.volumes.claim import wish_of
from ingot.control.volumes.marks import annotation
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.kube.objects import copy_of

# What is said of a cron, or of its template, and is true of what it imports: as CDI, which hands these on.
_HANDED_ON = ("instancetype.kubevirt.io/", "template.kubevirt.io/", "kubevirt.io/dynamic-credentials-support")


def labels_of(cron: Object) -> dict[str, str]:
    """The labels that imports and DataSource get from the cron."""
    said = {**_template_labels(cron), **(cron["metadata"].get("labels") or {})}
    return {**handed_on(said), names.IMPORT_CRON: name_of(cron)}


def handed_on(labels: Mapping[str, str]) -> dict[str, str]:
    """Those that tell what to make of an image, and so go wherever it is named."""
    return {key: text for key, text in labels.items() if key.startswith(_HANDED_ON)}


def _template_labels(cron: Object) -> dict[str, str]:
    return dict((cron["spec"]["template"].get("metadata") or {}).get("labels") or {})


def render(cron: Object, wanted: Wanted, name: str, imports: Iterable[Import] = ()) -> Object:
    """The DataVolume that imports the wanted version, which is the newest. It waits for nobody who would use it, and
    fetches what the one of `imports` does not have that was used last."""
    template = cron["spec"]["template"]
    said = (template.get("metadata") or {}).get("annotations") or {}
    spec = copy_of(template["spec"])
    source = spec["source"]
    if "registry" in source:
        reference = Reference.parse(source["registry"]["url"])
        source["registry"]["url"] = f"docker://{reference.name}@{Digest.parse(wanted.digest)}"
    elif wanted.checksum:
        source["http"]["checksum"] = wanted.checksum
    if wanted.storage_class is not None:
        wish_of({"spec": spec})["storageClassName"] = wanted.storage_class
    told = {
        names.DESIRED_DIGEST: wanted.digest,
        names.VERSION: wanted.name,
        names.IMPORT_SOURCE: source_digest(cron),
        names.IMMEDIATE: "true",
    }
    return {
        "apiVersion": DATA_VOLUMES.api_version,
        "kind": DATA_VOLUMES.kind,
        "metadata": {
            "name": name,
            "namespace": namespace_of(cron),
            "labels": {**_template_labels(cron), **labels_of(cron)},
            "annotations": {**_delta(imports), **said, **told},
        },
        "spec": spec,
    }


def is_from(cron: Object, found: Import) -> bool:
    """Whether an import is of the source that the cron follows, whichever its version, and asks for it in the same way,
    as far as was noted when it was made.

    Its own source does not count: a policy of the cluster may have changed that, as to name a mirror, and would again.
    """
    return annotation(found.any, names.IMPORT_SOURCE) in ("", source_digest(cron))


def source_digest(cron: Object) -> str:
    """A digest of what the cron says of its source, but for the version."""
    source = copy_of(cron["spec"]["template"]["spec"]["source"])
    if url := (source.get("registry") or {}).get("url"):
        # What is no reference is refused where it is to be imported.
        with suppress(ImageFault):
            source["registry"]["url"] = Reference.parse(url).name
    return hashlib.sha256(msgspec.json.encode(source, order="sorted")).hexdigest()[:16]


def _delta(imports: Iterable[Import]) -> dict[str, str]:
    """Says which version most of the new one is known from."""
    last = max((each for each in imports if each.is_ready), key=lambda each: each.last_use, default=None)
    return {names.DELTA_FROM: last.name} if last is not None else {}
