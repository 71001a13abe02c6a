"""Claims that take an upload themselves, as `virtctl image-upload pvc` makes them: an annotation asks for it."""

from ingot.api.cdi import names
from ingot.api.cdi.filling import is_direct, is_waiting
from ingot.api.object import Object, namespace_of
from ingot.api.resources import INSTANCES, PODS, SECRETS, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.owning import is_owned
from ingot.control.uploads.target import direct_pod_name
from ingot.control.volumes import telling, worker
from ingot.control.volumes.care import Care
from ingot.control.volumes.filler import Filled, Hindered, Soon, Waiting
from ingot.control.volumes.gate import gate_of
from ingot.control.volumes.marks import annotation
from ingot.control.volumes.outcome import judge
from ingot.control.volumes.prime import in_the_way, not_made
from ingot.control.volumes.uploading import Uploads, ensure_secret, upload_job
from ingot.control.volumes.wishes import configs_of, wishes_in
from ingot.control.volumes.worker_filler import too_small
from ingot.control.volumes.writers import Writers
from ingot.control.writing import delete, live
from ingot.kube.cache import Key, key_of
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting

# How often a claim that is in use is looked at: pods come and go without a change of it.
_BUSY_SECONDS = 5.0


class DirectUploads:
    """The controller of such claims. They have their volume while they are filled: their annotations say when."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM, outfit: Outfit = OF_ONE_MACHINE) -> None:
        self._client = manager.client
        self._outfit = outfit
        self._events = Recorder(manager.client, "ingot-direct-upload")
        self._claims = manager.informer(VOLUME_CLAIMS)
        self._pods = manager.informer(PODS, label_selector=names.COMPONENT)
        self._classes = manager.informer(STORAGE_CLASSES)
        self._writers = Writers(manager)
        self._care = Care(manager.client, clock, gate_of(manager, clock))
        self._configs = configs_of(manager)
        instances = manager.informer(INSTANCES)
        controller = Controller("direct-upload", self.reconcile, workers=2, clock=clock)
        # Read, not followed: nothing begins before they are full.
        controller.watch(instances, lambda _: ()).watch(self._configs, lambda _: ())
        manager.serve(self._events.run)
        manager.add(controller.watch(self._claims).own(self._pods, owner=VOLUME_CLAIMS))

    async def reconcile(self, key: Key) -> Result | None:
        claim = self._claims.cache.get(key)
        if claim is None:
            return None
        pod = self._pods.cache.get(Key(key.namespace, direct_pod_name(claim)))
        if not (is_direct(claim) and is_waiting(claim)):
            # Of a claim that asks for no upload no more is known than its pod: it may have asked for one before.
            if is_direct(claim) or pod is not None:
                await self._clear(claim, pod)
            return None
        try:
            if pod is None:
                await self._make(claim)
                return None
            return await self._follow(claim, pod)
        except Hindered as hindered:
            await self._tell(claim, telling.told(hindered.step, pod, None))
            again = hindered.step.again
            return Result(again) if again is not None else None

    async def _tell(self, claim: Object, wanted: telling.Told) -> None:
        if await telling.tell(self._client, claim, wanted):
            telling.record(self._events, Uploads.words, claim, wanted)

    async def _make(self, claim: Object) -> None:
        """Makes the pod that takes the upload, and its Secret. Raises Hindered where they cannot be."""
        if fault := too_small(claim, self._classes.cache):
            await self._tell(claim, telling.told(fault, None, None))
            return
        if writer := await self._writers.of(claim, but=direct_pod_name(claim)):
            message = f"it is in use by {writer}, whose disk an upload would take away: it is begun once that has ended"
            raise Hindered(Waiting("ClaimInUse", f"{message}; tried again", _BUSY_SECONDS))
        await ensure_secret(self._client, claim, direct_pod_name(claim))
        spec = {"contentType": annotation(claim, names.CONTENT_TYPE)}
        wishes = wishes_in(self._configs.cache)
        pod = worker.render(claim, upload_job(claim, spec, self._classes.cache, wishes), self._outfit, wishes)
        pod["metadata"]["name"] = direct_pod_name(claim)
        # It is for the claim itself, which is nobody's prime.
        del pod["metadata"]["annotations"][names.PRIME_FOR]
        try:
            await self._client.create(PODS, pod)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise not_made(f'pod "{key_of(pod)}"', error) from error

    async def _follow(self, claim: Object, pod: Object) -> Result | None:
        if not is_owned(pod, claim):
            raise in_the_way(f'pod "{key_of(pod)}"', gone=is_deleting(pod))
        step = judge(pod, claim)
        if isinstance(step, Soon):
            return Result(step.again)
        if isinstance(step, Filled):
            await self._tell(claim, telling.completed({}))
            return None
        if isinstance(step, Waiting):
            step = await self._care.look_after(pod, step)
        await self._tell(claim, telling.told(step, pod, None))
        again = step.again if isinstance(step, Waiting) else None
        return Result(again) if again is not None else None

    async def _clear(self, claim: Object, pod: Object | None) -> None:
        """There is no upload any more, or is to be none: its pod goes, and before it what that proved itself with.

        A claim that is deleted waits for its pod, which has it mounted.
        """
        secret = await live(self._client, SECRETS, direct_pod_name(claim), namespace_of(claim))
        if secret is not None and is_owned(secret, claim) and not is_deleting(secret):
            await delete(self._client, SECRETS, secret)
        if pod is not None and is_owned(pod, claim) and not is_deleting(pod):
            await delete(self._client, PODS, pod)
