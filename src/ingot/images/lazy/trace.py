"""Traces: in which order a boot reads an image, attached to it in the registry. A trace is a hint and nothing more."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.registry.client import Image, Registry
from ingot.images.registry.manifest import OCI_EMPTY, OCI_MANIFEST, Descriptor, Manifest, encode

TRACE = "application/vnd.ingot.trace.v1+json"
_CREATED = "org.opencontainers.image.created"
_EMPTY = b"{}"
# A disk of 64 GiB that is read in the most scattered order stays below this.
_MOST_BYTES = 16 << 20
# Referrers that are looked at; whoever may push can attach any number.
_MOST_TRACES = 16


class Trace(msgspec.Struct, frozen=True):
    """`runs`: chunks of the layer `layer` in the order in which they were first read, as [first, count]."""

    layer: str
    runs: list[tuple[int, int]]

    @classmethod
    def of(cls, layer: Digest, numbers: Iterable[int]) -> "Trace":
        runs: list[tuple[int, int]] = []
        for number in numbers:
            if runs and sum(runs[-1]) == number:
                runs[-1] = (runs[-1][0], runs[-1][1] + 1)
            else:
                runs.append((number, 1))
        return cls(str(layer), runs)

    @property
    def chunks(self) -> int:
        """How many it names."""
        return sum(count for _, count in self.runs)

    def numbers(self, count: int) -> list[int]:
        """The chunks of a layer that has `count`, each once; what cannot be is left out, since anybody may have
        written the trace."""
        found: dict[int, None] = {}
        left = count
        for first, length in self.runs:
            run = range(max(first, 0), min(first + length, count))
            left -= len(run)
            if left < 0:
                # It names chunks more than once, and could go on with that for long.
                break
            found.update(dict.fromkeys(run))
        return list(found)

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, data: bytes, subject: str) -> "Trace":
        """Raises ImageFault."""
        try:
            return msgspec.json.decode(data, type=cls)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ImageFault(subject, "BadTrace", f"its trace cannot be used: {error}") from None


def attach(registry: Registry, image: Image, trace: Trace) -> Digest:
    """Attaches a trace to an image in its registry. Those before it stay; the newest counts. Raises ImageFault."""
    data = trace.encode()
    layer = registry.push_blob(image.reference, [data], media_type=TRACE, digest=Digest.of(data), size=len(data))
    empty = registry.push_blob(image.reference, [_EMPTY], media_type=OCI_EMPTY, digest=Digest.of(_EMPTY))
    subject = Descriptor(media_type=image.media_type, digest=image.digest, size=len(image.raw))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = Manifest(config=empty, layers=[layer], artifact_type=TRACE, subject=subject, annotations={_CREATED: now})
    raw = encode(manifest)
    return registry.push_manifest(image.reference.at(Digest.of(raw)), raw, OCI_MANIFEST)


def find(registry: Registry, image: Image) -> Trace | None:
    """The newest trace that is attached to an image, or None. Raises ImageFault."""
    found = registry.referrers(image.reference, image.digest, TRACE)
    newest = sorted(found, key=lambda each: each.note(_CREATED))[-_MOST_TRACES:]
    for descriptor in reversed(newest):
        if trace := _read(registry, image, descriptor):
            return trace
    return None


def _read(registry: Registry, image: Image, descriptor: Descriptor) -> Trace | None:
    """None for what is no trace, and for one that is gone, while it is still listed. Raises ImageFault."""
    try:
        manifest = registry.manifest(image.reference.at(descriptor.digest)).parsed
        if not isinstance(manifest, Manifest) or not manifest.layers or manifest.layers[0].media_type != TRACE:
            return None
        data = registry.read(image.reference, manifest.layers[0], _MOST_BYTES)
    except ImageFault as fault:
        if fault.reason != "NotFound":
            raise
        return None
    return Trace.decode(data, f"{image.reference.name}@{descriptor.digest}")
