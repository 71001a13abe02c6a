"""The class of local volumes, which is there from the start."""

from ingot.api.object import Object
from ingot.api.resources import STORAGE_CLASSES
from ingot.api.status import ApiError
from ingot.kube.cache import Key
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from ingot.standalone.volumes.words import DEFAULT_CLASS, DELAYED, LOCAL_CLASS, LOCAL_PROVISIONER, is_default_class

_KEY = Key("", LOCAL_CLASS)


class LocalClass:
    """Creates the class when it is not there; one that is there belongs to people, and is left as it is."""

    def __init__(self, manager: Manager) -> None:
        self._client = manager.client
        self._classes = manager.informer(STORAGE_CLASSES)
        controller = Controller("local-class", self.reconcile).watch(self._classes, lambda _: (_KEY,))
        # A server that is new has no class whose coming would wake us.
        controller.queue.add(_KEY)
        manager.add(controller)

    async def reconcile(self, key: Key) -> None:
        if self._classes.cache.get(key) is not None:
            return
        others = [each for each in self._classes.cache.list() if is_default_class(each)]
        try:
            await self._client.create(STORAGE_CLASSES, local_class(is_default=not others))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise


def local_class(*, is_default: bool) -> Object:
    metadata: Object = {"name": LOCAL_CLASS}
    if is_default:
        metadata["annotations"] = {DEFAULT_CLASS: "true"}
    return {
        "apiVersion": STORAGE_CLASSES.api_version,
        "kind": STORAGE_CLASSES.kind,
        "metadata": metadata,
        "provisioner": LOCAL_PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": DELAYED,
        "allowVolumeExpansion": True,
    }
