"""Clones that a pod copies, byte by byte: the way that is always there, and takes its time."""

from collections.abc import Callable

from ingot.api.cdi import names, size
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import PODS, VOLUME_CLAIMS
from ingot.control.volumes import clone_moment, prime, worker
from ingot.control.volumes.clone_moment import CloneMoments
from ingot.control.volumes.clone_strategy import Strategy
from ingot.control.volumes.filler import Failed, Hindered, Means, Step, Waiting, Work, noted
from ingot.control.volumes.importing import queued
from ingot.control.volumes.marks import annotation, is_block, phase_of
from ingot.control.volumes.outcome import judge
from ingot.control.volumes.writers import Writers
from ingot.control.writing import delete
from ingot.kube.cache import Key, key_of
from ingot.kube.manager import Manager

_SOURCE = "source"
# How often a source that somebody writes to is looked at: pods come and go without a change of its claim.
_BUSY_SECONDS = 5.0
_NOTES = {names.CLONE_TYPE: str(Strategy.COPY)}


class Copies:
    """While the copy is made nobody may write to the origin: a copy of two moments is none."""

    def __init__(self, means: Means, manager: Manager) -> None:
        self._means = means
        self._writers = Writers(manager)
        self.moments = CloneMoments(means, manager)

    async def begin(self, work: Work, origin: Object, chosen: Callable[[], None]) -> Step:
        """Start the pod once it is its turn and nobody writes. `chosen` is called when it starts.

        What a running guest writes to is copied by its node first, as it is at one moment, in the same turn. Raises
        Hindered.
        """
        if _has_files(origin) and is_block(work.target):
            message = f'spec.volumeMode: PersistentVolumeClaim "{name_of(origin)}" holds the files of an archive, which'
            return Failed("IncompatibleVolumeMode", f"{message} need Filesystem; make the claim anew, final")
        content, gate = await self.moments.find(work.target, origin), self._means.gate
        if content is None and (writer := await self._writers.of(origin)):
            if not self.moments.can(origin) or (writer := await self._writers.strangers(origin)):
                raise Hindered(_busy(origin, writer))
            self.moments.check_turn(origin)
            if place := gate.admit(work.target):
                return queued(place, gate, work.target)
            content = await self.moments.begin(work.target, origin)
        if content is not None:
            if not clone_moment.saved_claim(content):
                return self._copied(work.target, content, origin)
            origin = self._saved(content)
        if place := gate.admit(work.target):
            return queued(place, gate, work.target)
        filled = work.prime or await self._prime(work, origin)
        chosen()
        pod = await worker.ensure(self._means, filled, self._job(work, origin))
        return noted(judge(pod, filled), _told(origin))

    async def _prime(self, work: Work, origin: Object) -> Object:
        """It has the room of the origin, to which storage may have given more than that asked for."""
        resources = size.enlarged(work.target["spec"], size.of_origin(VOLUME_CLAIMS, origin) or 0)
        where = namespace_of(origin)
        return await prime.ensure(self._means.client, work.target, work.source, where, resources=resources)

    def _copied(self, target: Object, content: Object, origin: Object) -> Waiting:
        """The node makes the full copy, which has a place as long as it gets on. It goes to its end without one where
        it has had its turn, or controllers are new. Raises Hindered for one that does not get on."""
        key, gate = key_of(target), self._means.gate
        said = clone_moment.waiting(origin, clone_moment.progress(content))
        if not clone_moment.moves(content, self._means.clock):
            raise Hindered(said)
        gate.note_progress(key, content, clone_moment.copied(content))
        if gate.has_had_its_turn(key):
            gate.end_turn(key)
            gate.leave(key)
        gate.admit(target)
        return said

    def _saved(self, content: Object) -> Object:
        """The claim with the full copy of what a guest writes to. Raises Hindered."""
        key = Key(namespace_of(content), clone_moment.saved_claim(content))
        found = self._means.claims.cache.get(key)
        if found is None:
            message = f'PersistentVolumeClaim "{key}" with the full copy of the source is not there yet; tried again'
            raise Hindered(Waiting("CloneSourceNotFound", message, _BUSY_SECONDS))
        return found

    async def follow(self, work: Work) -> Step:
        """How the pod is doing. A copy that was made while somebody began to write is thrown away."""
        assert work.prime is not None
        assert work.pod is not None
        origin = self._means.claims.cache.get(Key(namespace_of(work.pod), _copied(work.pod)))
        step = judge(work.pod, work.prime)
        if phase_of(work.pod) == "Succeeded" and origin is not None and (writer := await self._writers.of(origin)):
            # The prime, too: a worker goes on with what it finds, and does not copy it again.
            await delete(self._means.client, PODS, work.pod)
            await delete(self._means.client, VOLUME_CLAIMS, work.prime)
            return _busy(origin, writer)
        return noted(step, _told(origin))

    def _job(self, work: Work, origin: Object) -> worker.Job:
        args = ["copy", "--from", worker.source_path(origin), "--to", worker.target_path(work.target)]
        args += ["--size", str(worker.room(work.target, self._means.classes.cache)), "--state", names.STATE_PATH]
        if _has_files(origin):
            args += ["--content-type", names.FILES]
        elif worker.is_preallocated(work.source["spec"], work.target, self._means.wishes):
            args.append("--preallocate")
        return worker.Job(
            prefix=names.CLONER_PREFIX,
            component="cdi-clone-source",
            args=[*args, *worker.outlet()],
            mounts={_SOURCE: worker.source_mount(origin)},
            priority=work.source["spec"].get("priorityClassName") or worker.priority_of(work.target),
        )


def _copied(pod: Object) -> str:
    """The claim that a worker copies."""
    sources = (each["persistentVolumeClaim"] for each in pod["spec"].get("volumes") or () if each["name"] == _SOURCE)
    return next((str(each["claimName"]) for each in sources), "")


def _has_files(origin: Object) -> bool:
    """Whether the claim holds files, and no disk."""
    return annotation(origin, names.CONTENT_TYPE) == names.FILES


def _busy(origin: Object, writer: str) -> Waiting:
    message = (
        f'PersistentVolumeClaim "{name_of(origin)}", which is to be cloned, is in use by {writer}, and a copy takes '
        "time, in which it must not change: it is cloned once that has ended; tried again"
    )
    return Waiting("CloneSourceInUse", message, _BUSY_SECONDS, notes=_NOTES)


def _told(origin: Object | None) -> dict[str, str]:
    """What the target tells: the strategy, and what it is a copy of."""
    return {**_NOTES, names.CONTENT_TYPE: names.FILES} if origin is not None and _has_files(origin) else _NOTES
