"""HyperConverged: hands the golden images of a cluster on to an SSP of its own (G6)."""

import secrets
from collections.abc import Callable
from typing import Final

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import DATA_IMPORT_CRONS, HYPERCONVERGEDS, NAMESPACES, SSPS
from ingot.api.ssp.ssp import TEMPLATES
from ingot.api.status import ApiError
from ingot.control.golden import belonging, hyperconverged_status
from ingot.control.golden.boot_images import BootImage, boot_images
from ingot.control.golden.rivals import Rivals
from ingot.control.golden.ssp_status import RETRY_SECONDS
from ingot.control.owning import is_passing
from ingot.control.writing import change
from ingot.kube.cache import Key, key_of
from ingot.kube.change import patch_status
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.manager import Manager
from ingot.kube.objects import AlreadyOwned, copy_of, is_deleting, set_controller_reference

_MINUTES: Final = 60
# Of the name of an SSP, before that of the HyperConverged that makes it.
_PREFIX: Final = "ssp-"


def _any_minute() -> int:
    return secrets.randbelow(_MINUTES)


def _behind(cron: Object) -> list[Key]:
    """The HyperConverged whose SSP has made a cron."""
    return [Key(ssp.namespace, ssp.name.removeprefix(_PREFIX)) for ssp in belonging.owners(cron)]


class HyperConvergeds:
    """The controller. `choose` gives the minute of the hour at which common images are looked for, asked for once."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM, choose: Callable[[], int] = _any_minute) -> None:
        self._client = manager.client
        self._clock = clock
        self._choose = choose
        self._all = manager.informer(HYPERCONVERGEDS)
        self._ssps = manager.informer(SSPS)
        self._crons = manager.informer(DATA_IMPORT_CRONS)
        self._rivals = Rivals(manager)
        self._namespaces = manager.informer(NAMESPACES)
        controller = (
            Controller("hyperconverged", self.reconcile, clock=clock)
            .watch(self._all)
            .own(self._ssps, owner=HYPERCONVERGEDS)
            .watch(self._crons, _behind)
            .watch(self._namespaces, lambda _: [key_of(each) for each in self._all.cache.list()])
        )
        manager.add(controller)

    async def reconcile(self, key: Key) -> Result | None:
        found = self._all.cache.get(key)
        if found is None or is_deleting(found):
            return None
        found = await self._scheduled(found)
        images = boot_images(found, found["status"]["dataImportSchedule"])
        told, now = copy_of(found), self._clock.time()
        again = None
        try:
            await self._place(found)
            ssp = await self._hand_on(found, images)
        except AlreadyOwned as error:
            message = f"{error}: delete that, and the SSP is this one's"
            hyperconverged_status.refused(told, message, now)
        except ApiError as error:
            if is_passing(error):
                raise
            again = Result(RETRY_SECONDS)
            message = f"{error.message}; tried again in {RETRY_SECONDS:g} s"
            hyperconverged_status.refused(told, message, now)
        else:
            hyperconverged_status.write(told, images, ssp, self._rivals, now)
        await patch_status(self._client, HYPERCONVERGEDS, found, told)
        return again

    async def _scheduled(self, found: Object) -> Object:
        """The same with a schedule of the common images. It is stored before anybody is told of it, and then kept."""
        if (found.get("status") or {}).get("dataImportSchedule"):
            return found
        told = copy_of(found)
        told.setdefault("status", {})["dataImportSchedule"] = f"{self._choose()} */12 * * *"
        return await patch_status(self._client, HYPERCONVERGEDS, found, told)

    async def _place(self, found: Object) -> None:
        """The namespace that the common images are hidden in is there."""
        name = (found.get("spec") or {}).get("commonBootImageNamespace")
        if name and self._namespaces.cache.get(Key("", name)) is None:
            await self._client.create(NAMESPACES, {"metadata": {"name": name}})

    async def _hand_on(self, found: Object, images: list[BootImage]) -> Object:
        """The SSP, which says what it is to say."""
        key = Key(namespace_of(found), f"{_PREFIX}{name_of(found)}")
        ordered = {TEMPLATES: [image.template for image in images]}
        if place := (found.get("spec") or {}).get("commonTemplatesNamespace"):
            ordered["namespace"] = place

        def heal(ssp: Object) -> None:
            set_controller_reference(ssp, found)
            ssp["spec"] = {**(ssp.get("spec") or {}), "commonTemplates": ordered}

        ssp = self._ssps.cache.get(key)
        if ssp is not None:
            return await change(self._client, SSPS, ssp, heal)
        made: Object = {"apiVersion": SSPS.api_version, "kind": SSPS.kind}
        made["metadata"] = {"name": key.name, "namespace": key.namespace}
        heal(made)
        return await self._client.create(SSPS, made)
