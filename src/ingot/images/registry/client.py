"""Registries: images are found, read, pushed and deleted by their references."""

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Self, TypeVar

from ingot.images.blob import Blob, Bytes
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference, check_registry
from ingot.images.registry import listing, referrers, upload
from ingot.images.registry.auth import Auth, Challenges
from ingot.images.registry.config import MOST_BYTES as MOST_CONFIG
from ingot.images.registry.config import Config, decode_config
from ingot.images.registry.endpoint import Endpoint
from ingot.images.registry.failover import FailoverBlob
from ingot.images.registry.manifest import Descriptor, Manifest, Platform, decode
from ingot.images.registry.platform import check, choose, own_platform
from ingot.images.registry.recent import Recent
from ingot.images.registry.repository import Document, Repository
from ingot.images.registry.settings import Settings
from ingot.images.registry.transport import Transport
from ingot.images.registry.upload import Progress

_T = TypeVar("_T")
# An index in an index is rare, and deeper is nobody's intention.
_DEEPEST = 3
_MOST_ENDPOINTS = 256


@dataclass(frozen=True, slots=True)
class Image:
    """One image: `reference` is pinned to `digest`, that of its manifest `raw`.

    `index`: the index that it was chosen from, and `platform` what it is for there; None where there was none.
    """

    reference: Reference
    digest: Digest
    manifest: Manifest
    raw: bytes
    media_type: str
    index: Document | None
    platform: Platform | None


class Registry:
    """All registries, with one set of connections and credentials. For several threads at once.

    What is read is asked of the mirrors first; what is changed, of the registry itself. All raise ImageFault.
    """

    def __init__(self, settings: Settings | None = None, challenges: Challenges | None = None) -> None:
        self.transport = Transport(settings or Settings.load())
        self._auth = Auth(self.transport, Challenges() if challenges is None else challenges)
        self._mirrors = self.transport.settings.mirrors
        self._endpoints: Recent[str, Endpoint] = Recent(_MOST_ENDPOINTS)

    @property
    def origin(self) -> Self:
        """The same without mirrors: for what is read to decide about a change."""
        other = copy.copy(self)
        other._mirrors = {}
        return other

    def hasty(self, silence: float) -> Self:
        """The same for those who ask again by themselves: they are told sooner what fails, or is silent for so many
        seconds."""
        other = copy.copy(self)
        other.transport = self.transport.hasty(silence)
        other._auth = self._auth.over(other.transport)
        other._endpoints = Recent(_MOST_ENDPOINTS)
        for name, endpoint in self._endpoints.items():
            other._endpoints.put(name, endpoint.over(other.transport, other._auth))
        return other

    def resolve(self, reference: Reference, platform: Platform | None = None) -> Image:
        """The image; of an index, that for `platform`, or for this machine. One without an index must be for
        `platform`, where that is given."""
        document = self.manifest(reference)
        index, chosen = None, None
        for _ in range(_DEEPEST):
            if isinstance(document.parsed, Manifest):
                pinned, found = reference.at(document.digest), document.parsed
                image = Image(pinned, document.digest, found, document.raw, document.media_type, index, chosen)
                if platform and index is None:
                    check(self.config(image), platform, str(reference))
                return image
            entry = choose(document.parsed, platform or own_platform(), str(reference))
            index, chosen = index or document, entry.platform
            document = self.manifest(reference.at(entry.digest))
        raise ImageFault(str(reference), "BadManifest", f"its indexes lie more than {_DEEPEST} deep in each other")

    def manifest(self, reference: Reference) -> Document:
        """The manifest or index itself."""
        return self._read(reference, lambda place: place.manifest(reference.target, str(reference)))

    def digest(self, reference: Reference) -> Digest:
        """What the reference stands for at present; cheap."""
        if reference.digest:
            return reference.digest
        return self._read(reference, lambda place: place.digest(reference.target, str(reference)))

    def config(self, image: Image) -> Config:
        raw = self.read(image.reference, image.manifest.config, MOST_CONFIG)
        return decode_config(raw, str(image.reference))

    def read(self, reference: Reference, descriptor: Descriptor, limit: int) -> bytes:
        """A small blob, its digest checked."""
        subject = f"{reference.name}@{descriptor.digest}"
        if descriptor.size > limit:
            raise ImageFault(subject, "TooLarge", f"it has {descriptor.size} bytes; at most {limit} are accepted")
        return self._read(reference, lambda place: place.read(descriptor, subject))

    def blob(self, reference: Reference, descriptor: Descriptor) -> Blob:
        """A layer or other blob, to be read. Asks nobody yet. Whoever reads all of it checks the digest."""
        subject = f"{reference.name}@{descriptor.digest}"
        places = self._places(reference)
        blobs = [place.blob(descriptor, subject) for place in places]
        return FailoverBlob(blobs, [place.endpoint.left for place in places]) if len(blobs) > 1 else blobs[0]

    def tags(self, reference: Reference) -> Iterator[str]:
        return listing.tags(self._own(reference), reference.name)

    def repositories(self, registry: str) -> Iterator[str]:
        check_registry(registry)
        return listing.repositories(self._endpoint(registry), registry)

    def referrers(self, reference: Reference, digest: Digest, artifact_type: str = "") -> list[Descriptor]:
        """What was attached to the image of that digest. A mirror that has none says nothing of the registry."""
        subject = f"{reference.name}@{digest}"
        *mirrors, own = self._places(reference)
        for mirror in mirrors:
            try:
                if found := referrers.referrers(mirror, digest, artifact_type, subject):
                    return found
            except ImageFault as fault:
                mirror.endpoint.left(fault)
        return referrers.referrers(own, digest, artifact_type, subject)

    def push_blob(
        self,
        reference: Reference,
        source: Iterable[Bytes],
        *,
        media_type: str,
        digest: Digest | None = None,
        size: int = 0,
        mount_from: Iterable[Reference] = (),
        progress: Progress | None = None,
    ) -> Descriptor:
        """Sends what `source` gives, in one stream. `digest`, where it is known: a blob that is there already, or in
        one of the repositories `mount_from` of the same registry, is not sent. `size` is for the progress."""
        if digest:
            there = self.present(reference, digest, mount_from)
            if there is not None:
                return Descriptor(media_type=media_type, digest=digest, size=there)
        place = self._own(reference)
        return upload.push_blob(
            place, source, reference.name, media_type=media_type, digest=digest, progress=progress, total=size
        )

    def present(self, reference: Reference, digest: Digest, mount_from: Iterable[Reference] = ()) -> int | None:
        """The size of a blob that is in the repository, or was brought there from one of `mount_from`; else None."""
        place = self._own(reference)
        size = place.size(digest, reference.name)
        if size is not None:
            return size
        for other in mount_from:
            same = other.registry == reference.registry and other.repository != reference.repository
            if same and upload.mount(place, digest, other.repository, reference.name):
                return place.size(digest, reference.name)
        return None

    def push_manifest(self, reference: Reference, raw: bytes, media_type: str) -> Digest:
        """Puts a manifest or index under the reference's tag or digest. One with a `subject` becomes a referrer."""
        document = decode(raw, media_type, str(reference))
        digest = Digest.of(raw)
        if reference.digest and reference.digest != digest:
            raise ImageFault(str(reference), "WrongDigest", f"the manifest to push is {digest}")
        place = self._own(reference)
        target = str(digest) if reference.digest or not reference.tag else reference.tag
        understood = place.put(target, raw, media_type, str(reference))
        if document.subject and not understood:
            kind = document.artifact_type or (document.config.media_type if isinstance(document, Manifest) else "")
            entry = Descriptor(
                media_type=media_type,
                digest=digest,
                size=len(raw),
                artifact_type=kind,
                annotations=document.annotations,
            )
            referrers.attach_by_tag(place, document.subject.digest, entry, str(reference))
        return digest

    def untag(self, reference: Reference) -> bool:
        """Removes the reference's tag and leaves the image; whether the registry can do that."""
        return self._own(reference).untag(reference.target, str(reference))

    def delete(self, reference: Reference) -> Digest:
        """Deletes the manifest that the reference stands for, with every tag that it has. Its digest."""
        place, subject = self._own(reference), str(reference)
        document = place.manifest(reference.target, subject)
        if document.parsed.subject:
            referrers.remove(place, document.parsed.subject.digest, document.digest, subject)
        else:
            place.delete(document.digest, subject)
        return document.digest

    def delete_attached(self, reference: Reference, digest: Digest) -> None:
        """Deletes what Ingot has attached to the image of that digest, and nothing else."""
        place, subject = self._own(reference), f"{reference.name}@{digest}"
        for each in referrers.referrers(place, digest, "", subject):
            if each.artifact_type.startswith(referrers.OURS):
                referrers.remove(place, digest, each.digest, f"{reference.name}@{each.digest}")

    def tidy(self) -> None:
        """Closes the connections that nobody has used for long."""
        self.transport.tidy()

    def close(self) -> None:
        """Closes the connections that nobody uses."""
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, reference: Reference, work: Callable[[Repository], _T]) -> _T:
        """What the first place that has it says; the fault of the registry itself, where none has."""
        *mirrors, own = self._places(reference)
        for mirror in mirrors:
            try:
                return work(mirror)
            except ImageFault as fault:
                mirror.endpoint.left(fault)
        return work(own)

    def _places(self, reference: Reference) -> list[Repository]:
        """The mirrors that answer, as far as that is known, and the registry itself at last."""
        mirrors = [mirror.partition("/") for mirror in self._mirrors.get(reference.registry, ())]
        places = [
            Repository(self._endpoint(host), f"{prefix}/{reference.repository}" if prefix else reference.repository)
            for host, _, prefix in mirrors
        ]
        return [*(place for place in places if not place.endpoint.resting), self._own(reference)]

    def _own(self, reference: Reference) -> Repository:
        return Repository(self._endpoint(reference.registry), reference.repository)

    def _endpoint(self, registry: str) -> Endpoint:
        return self._endpoints.made(registry, lambda: Endpoint(self.transport, self._auth, registry))
