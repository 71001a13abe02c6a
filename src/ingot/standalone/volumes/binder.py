"""Brings claims and volumes together, as the volume controller of kube-controller-manager does."""

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.kube.cache import Key, key_of
from ingot.kube.controller import Controller
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting
from ingot.standalone.volumes import match
from ingot.standalone.volumes.binding import Binding
from ingot.standalone.volumes.reclaim import Reclaim
from ingot.standalone.volumes.wish import Wish
from ingot.standalone.volumes.words import (
    BIND_COMPLETED,
    SELECTED_NODE,
    annotation,
    class_of,
    is_default_class,
    is_delayed,
    is_left_to_populators,
    is_meant_for,
    is_passed_on,
    phase_of,
)

_NO_REFERENCE = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
_NO_VOLUME = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
_TWO_CLAIMS = "Two claims are bound to the same volume, this one is bound incorrectly"


class Binder:
    """One worker for claims and volumes, so that no two claims are given one volume by it.

    A volume's key has no namespace, a claim's always has one.
    """

    def __init__(self, manager: Manager) -> None:
        self.client = manager.client
        self._events = Recorder(manager.client, "persistentvolume-controller")
        self._claims = manager.informer(VOLUME_CLAIMS)
        self._volumes = manager.informer(VOLUMES)
        self._classes = manager.informer(STORAGE_CLASSES)
        self._binding = Binding(self.client, self._events)
        self._reclaim = Reclaim(self.client, self._events)
        self._wish = Wish(self.client, self._events, self._classes.cache)
        controller = Controller("volume-binder", self.reconcile)
        controller.watch(self._claims, self._of_claim)
        controller.watch(self._volumes, self._of_volume)
        controller.watch(self._classes, self._of_class)
        manager.serve(self._events.run)
        manager.add(controller)

    def _of_claim(self, claim: Object) -> list[Key]:
        """The claim, and the volume that it has: a claim that is gone releases it."""
        keys = [key_of(claim)]
        if volume := claim["spec"].get("volumeName"):
            keys.append(Key("", volume))
        return keys

    def _of_volume(self, volume: Object) -> list[Key]:
        """The volume, and whose it is; a free one is of interest to every claim of its class."""
        keys = [key_of(volume)]
        if reference := volume["spec"].get("claimRef"):
            keys.append(Key(reference.get("namespace", ""), reference.get("name", "")))
        elif phase_of(volume) == "Available":
            keys += [key_of(claim) for claim in self._unbound() if class_of(claim) == class_of(volume)]
        return keys

    def _of_class(self, storage_class: Object) -> list[Key]:
        """The claims that wait for this class, or for any."""
        names = (None, "", name_of(storage_class))
        return [key_of(claim) for claim in self._unbound() if class_of(claim) in names]

    def _unbound(self) -> list[Object]:
        return [claim for claim in self._claims.cache.list() if not annotation(claim, BIND_COMPLETED)]

    async def reconcile(self, key: Key) -> None:
        if not key.namespace:
            volume = self._volumes.cache.get(key)
            if volume is not None:
                await self._see_volume(volume)
            return
        claim = self._claims.cache.get(key)
        if claim is None:
            return
        if annotation(claim, BIND_COMPLETED):
            await self._see_bound(claim)
        elif claim["spec"].get("volumeName"):
            await self._see_named(claim)
        else:
            await self._see_unbound(claim)

    async def _see_unbound(self, claim: Object) -> None:
        """A claim that takes any volume that suits it."""
        if is_deleting(claim) or await self._take_default_class(claim):
            return
        storage_class = self._classes.cache.get(Key("", class_of(claim)))
        waits = is_delayed(storage_class) and not annotation(claim, SELECTED_NODE)
        volume = match.find(claim, self._volumes.cache.list(), reserved_only=waits)
        if volume is not None:
            if not is_passed_on(claim):
                await self._binding.bind(volume, claim)
        elif waits:
            if not is_left_to_populators(claim):
                message = "waiting for first consumer to be created before binding"
                self._events.record(claim, "WaitForFirstConsumer", message)
        else:
            await self._wish.tell(claim)

    async def _take_default_class(self, claim: Object) -> bool:
        """A claim that was there before there was a default class gets it now; whether it did."""
        if claim["spec"].get("storageClassName") is not None or class_of(claim):
            return False
        defaults = sorted(filter(is_default_class, self._classes.cache.list()), key=name_of)
        if not defaults:
            return False
        newest = max(defaults, key=lambda each: str(each["metadata"].get("creationTimestamp", "")))
        change = {"spec": {"storageClassName": name_of(newest)}, "metadata": _version(claim)}
        await self.client.patch(VOLUME_CLAIMS, name_of(claim), change, namespace_of(claim))
        return True

    async def _see_named(self, claim: Object) -> None:
        """A claim that wants one volume and no other."""
        name = claim["spec"]["volumeName"]
        volume = self._volumes.cache.get(Key("", name))
        if volume is None:
            return
        if volume["spec"].get("claimRef") and not is_meant_for(volume, claim):
            self._events.record(
                claim, "FailedBinding", f'volume "{name}" already bound to a different claim.', "Warning"
            )
        elif why := match.mismatch(volume, claim):
            message = f'Cannot bind to requested volume "{name}": {why}'
            self._events.record(claim, "VolumeMismatch", message, "Warning")
        else:
            await self._binding.bind(volume, claim)

    async def _see_bound(self, claim: Object) -> None:
        """A claim that has its volume, unless that was taken away behind its back."""
        name = claim["spec"].get("volumeName")
        if not name:
            await self._binding.lose(claim, "ClaimLost", _NO_REFERENCE)
            return
        volume = self._volumes.cache.get(Key("", name))
        if volume is None:
            if phase_of(claim) != "Lost" and await self._is_gone(name):
                await self._binding.lose(claim, "ClaimLost", _NO_VOLUME)
        elif not volume["spec"].get("claimRef") or is_meant_for(volume, claim):
            await self._binding.bind(volume, claim)
        else:
            await self._binding.lose(claim, "ClaimMisbound", _TWO_CLAIMS)

    async def _is_gone(self, name: str) -> bool:
        """Whether there is no such volume: the cache may be behind, and a lost claim is lost for good."""
        try:
            await self.client.get(VOLUMES, name)
        except ApiError as error:
            if error.code != 404:
                raise
            return True
        return False

    async def _see_volume(self, volume: Object) -> None:
        reference = volume["spec"].get("claimRef")
        if not reference or not reference.get("uid"):
            await self._binding.set_volume_phase(volume, "Available")
            return
        claim = await self._claim_of(reference)
        if claim is None:
            await self._reclaim.release(volume)
        elif claim["spec"].get("volumeName") == name_of(volume):
            await self._binding.set_volume_phase(volume, "Bound")
        elif claim["spec"].get("volumeName"):
            await self._reclaim.give_back(volume)

    async def _claim_of(self, reference: Object) -> Object | None:
        """The very claim that a volume belongs to. None only when the server says so: its volume may be deleted."""
        claim = self._claims.cache.get(Key(reference["namespace"], reference["name"]))
        if claim is None or uid_of(claim) != reference["uid"]:
            try:
                claim = await self.client.get(VOLUME_CLAIMS, reference["name"], reference["namespace"])
            except ApiError as error:
                if error.code != 404:
                    raise
                return None
        return claim if uid_of(claim) == reference["uid"] else None


def _version(obj: Object) -> Object:
    return {"resourceVersion": obj["metadata"]["resourceVersion"]}
