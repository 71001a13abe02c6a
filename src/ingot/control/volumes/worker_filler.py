"""What fillers have in common whose worker is all there is: its prime is with the target, and nothing is beside it."""

from collections.abc import Mapping

from ingot.api.cdi.names import CONTENT_TYPE, DISK, FILES
from ingot.api.object import Object, name_of, namespace_of
from ingot.control.volumes import prime, worker
from ingot.control.volumes.filler import Failed, Means, Work
from ingot.control.volumes.marks import annotation, is_block
from ingot.images.blocks import BLOCK
from ingot.kube.cache import Cache, Key
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager


def content_type(source: Object) -> str:
    """What a source's volume holds: a disk, or the files of an archive."""
    return str(source["spec"].get("contentType") or DISK)


class WorkerFiller:
    """The base of Imports and Uploads. Targets tell what they hold, for those who copy them."""

    def __init__(self, means: Means, _manager: Manager) -> None:
        self._means = means

    def namespace(self, target: Object, _source: Object) -> str:
        return namespace_of(target)

    def listen(self, _controller: Controller) -> None:
        """The pod says all there is."""

    async def prime_of(self, work: Work) -> Object:
        """The prime, made if it is not there. Raises Hindered where it cannot be."""
        said = {CONTENT_TYPE: content_type(work.source)}
        return work.prime or await prime.ensure(self._means.client, work.target, work.source, annotations=said)

    def notes(self, prime: Object | None) -> Mapping[str, str]:
        held = annotation(prime, CONTENT_TYPE) if prime is not None else ""
        return {CONTENT_TYPE: held} if held else {}

    async def sweep(self, _key: Key, _keep: str) -> None:
        """There is nothing but prime and pod, and what the prime owns."""


def too_small(target: Object, classes: Cache) -> Failed | None:
    """Why no disk fits into a claim."""
    if worker.room(target, classes) >= BLOCK:
        return None
    message = f"spec.resources.requests.storage leaves no room for a disk, which has at least {BLOCK} bytes"
    return Failed("ClaimTooSmall", f"{message}; make the claim anew with more, final")


def unsuitable(target: Object, source: Object, classes: Cache) -> Failed | None:
    """Why a claim cannot hold what the source gives, whatever that is."""
    if fault := too_small(target, classes):
        return fault
    if content_type(source) != FILES or not is_block(target):
        return None
    message = f'spec.volumeMode: an archive, as {source["kind"]} "{name_of(source)}" has it, needs Filesystem'
    return Failed("IncompatibleVolumeMode", f"{message}; make the claim anew, final")
