"""A disk into a registry, as an ordinary container disk whose layer is in zstd:chunked form.

Nothing is written to this machine: the disk is read once to find its zeros, and again while it is compressed and sent.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ingot.images.boot import hint
from ingot.images.boot.order import boot_order
from ingot.images.content import Content
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.pushed_layers import PushedLayer, PushedLayers
from ingot.images.qcow2.layout import Layout
from ingot.images.qcow2.writer import Qcow2Image, nonzero
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_CONFIG, OCI_MANIFEST, Descriptor, Manifest, Platform, encode
from ingot.images.registry.platform import own_platform
from ingot.images.repush import candidates, same_layer
from ingot.images.tagging import tag_image
from ingot.images.zstd_chunked.writer import EPOCH, LEVEL, LayerWriter

log = logging.getLogger(__name__)

LAYER = "application/vnd.oci.image.layer.v1.tar+zstd"
NAME = "disk.qcow2"
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class PushOptions:
    """`platform`: what the disk is for, that of this machine where None. `index`: the tag becomes an index with this
    image and those for other platforms that are there. `level`: how hard zstd tries, 1 to 19; where one is given, a
    layer that is there already is replaced, for it may have another. `mount_from`: repositories of the same registry
    that may have the layer. `cache`: the directory that keeps note of layers that were pushed; none without it."""

    platform: Platform | None = None
    index: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    level: int | None = None
    mount_from: Sequence[Reference] = ()
    cache: Path | None = None


@dataclass(frozen=True, slots=True)
class Pushed:
    """`digest` of what the tag names now; `manifest` of the image itself. `size` of the disk, `data` of its bytes
    that are not zeros, `sent` of the bytes of the layer that went to the registry."""

    digest: Digest
    manifest: Digest
    layer: Descriptor
    size: int
    data: int
    sent: int


def check_push(reference: Reference, options: PushOptions) -> None:
    """Raises ImageFault for what cannot be, whatever the disk is: it is known before that is read."""
    if reference.digest is not None:
        raise ImageFault(str(reference), "BadReference", "a push goes to a tag; its digest comes from what is pushed")
    for other in options.mount_from:
        if other.registry != reference.registry:
            message = f"no layer can be taken from it: name a repository of {reference.registry}"
            raise ImageFault(other.name, "BadReference", message)


def lay_out(disk: Content, subject: str, progress: Progress = lambda done, whole: None) -> Qcow2Image:
    """The disk as the qcow2 file that is pushed, without its zeros, for which all of it is read. `subject` names it in
    errors. Raises ImageFault."""
    if disk.size == 0:
        raise ImageFault(subject, "BadDisk", "it has no bytes at all")
    return Qcow2Image(disk, Layout(disk.size, nonzero(disk, progress)), subject)


def push_disk(
    registry: Registry,
    disk: Content,
    reference: Reference,
    options: PushOptions,
    progress: Progress = lambda done, whole: None,
) -> Pushed:
    """Lays out a disk and makes it the image of that tag. Raises ImageFault."""
    return push_file(registry, lay_out(disk, "the disk"), reference, options, progress)


def push_file(
    registry: Registry,
    image: Qcow2Image,
    reference: Reference,
    options: PushOptions,
    progress: Progress = lambda done, whole: None,
    check: Callable[[], None] = lambda: None,
) -> Pushed:
    """Makes the file of a disk the image of that tag. `progress` gets its bytes that are with the registry. `check`
    raises ImageFault when the disk has changed since it was laid out: there is no image of it then. Raises
    ImageFault."""
    check_push(reference, options)
    # A mirror may be behind, and what it says must not decide what is changed.
    registry = registry.origin
    platform = options.platform or own_platform()
    made, sent = _Layer(registry, image, reference, platform, options, progress).push()
    notes = {**made.annotations, **_boot_order(image)}
    check()
    layer = Descriptor(media_type=LAYER, digest=Digest.parse(made.digest), size=made.size, annotations=notes)
    config = _config(platform, options.labels, made.diff_id)
    pushed = registry.push_blob(reference, [config], media_type=OCI_CONFIG, digest=Digest.of(config), size=len(config))
    raw = encode(Manifest(config=pushed, layers=[layer]))
    entry = Descriptor(media_type=OCI_MANIFEST, digest=Digest.of(raw), size=len(raw), platform=platform)
    digest = tag_image(registry, reference, raw, entry, options.index)
    # The last cluster may go beyond the end of the disk.
    data = min(image.size - image.layout.data_start, image.layout.size)
    return Pushed(digest, entry.digest, layer, image.layout.size, data, sent)


def _boot_order(image: Qcow2Image) -> dict[str, str]:
    """What is said of the boot of a disk; nothing where nothing is known of it."""
    try:
        clusters = boot_order(image.disk)
    except Exception:
        # Anybody may have written what is on the disk, and a push must not fail for a hint.
        log.exception("no boot is foretold")
        return {}
    return hint.annotations(image.layout.read_for(clusters)) if clusters else {}


@dataclass(frozen=True, slots=True)
class _Layer:
    """The layer of an image on its way to a repository."""

    registry: Registry
    image: Qcow2Image
    reference: Reference
    platform: Platform
    options: PushOptions
    progress: Progress

    def push(self) -> tuple[PushedLayer, int]:
        """The layer, and how many of its bytes were sent: none where it was there, or in a repository that we know."""
        level = self.options.level or LEVEL
        notes = PushedLayers.open(self.options.cache) if self.options.cache else None
        made = notes.find(self.image, level, self.progress) if notes else None
        sent = 0
        if made is None or not self._is_there(made):
            made, sent = self._make()
        if notes:
            repositories = [self.reference.name, *made.repositories]
            notes.add(msgspec.structs.replace(made, repositories=repositories), self.image.size, level)
        return made, sent

    def _is_there(self, made: PushedLayer) -> bool:
        places = [*made.places(), *self.options.mount_from]
        return self.registry.present(self.reference, Digest.parse(made.digest), places) is not None

    def _make(self) -> tuple[PushedLayer, int]:
        """As push, of a layer that this machine has not noted."""
        writer = self._writer()
        if self.options.level is None:
            places = candidates(self.registry, self.reference, self.options.mount_from)
            found = same_layer(self.registry, self.image, places, self.platform, writer, self.progress)
            if found and (size := self.registry.present(self.reference, found[0], [found[1]])) is not None:
                return _described(writer, str(found[0]), size), 0
            writer = self._writer()
        layer = self.registry.push_blob(self.reference, writer, media_type=LAYER)
        return _described(writer, str(layer.digest), layer.size), layer.size

    def _writer(self) -> LayerWriter:
        return LayerWriter(self.image, "disk", NAME, level=self.options.level or LEVEL, progress=self.progress)


def _described(writer: LayerWriter, digest: str, size: int) -> PushedLayer:
    return PushedLayer(writer.file_digest, digest, size, writer.diff_id, writer.annotations, [])


def _config(platform: Platform, labels: Mapping[str, str], diff_id: str) -> bytes:
    """The same for the same disk, so that a push that changes nothing is seen to change nothing."""
    config: dict[str, object] = {"created": EPOCH, "architecture": platform.architecture, "os": platform.os}
    if platform.variant:
        config["variant"] = platform.variant
    config["config"] = {"Labels": dict(sorted(labels.items()))} if labels else {}
    config["rootfs"] = {"type": "layers", "diff_ids": [diff_id]}
    config["history"] = [{"created": EPOCH, "created_by": "ingot image push"}]
    return msgspec.json.encode(config)
