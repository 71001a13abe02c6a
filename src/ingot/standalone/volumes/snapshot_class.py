"""The class of snapshots of local volumes, which is there from the start."""

from ingot.api.object import Object
from ingot.api.resources import SNAPSHOT_CLASSES
from ingot.api.status import ApiError
from ingot.kube.cache import Cache, Key
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from ingot.standalone.volumes.snapshot_words import DEFAULT_CLASS, DRIVER
from ingot.standalone.volumes.words import LOCAL_CLASS, annotation

_KEY = Key("", LOCAL_CLASS)


class LocalSnapshotClass:
    """Creates the class when it is not there; one that is there belongs to people, and is left as it is."""

    def __init__(self, manager: Manager) -> None:
        self._client = manager.client
        self._classes = manager.informer(SNAPSHOT_CLASSES)
        controller = Controller("local-snapshot-class", self.reconcile).watch(self._classes, lambda _: (_KEY,))
        # A server that is new has no class whose coming would wake us.
        controller.queue.add(_KEY)
        manager.add(controller)

    async def reconcile(self, key: Key) -> None:
        if self._classes.cache.get(key) is not None:
            return
        try:
            await self._client.create(SNAPSHOT_CLASSES, snapshot_class(is_default=not defaults(self._classes.cache)))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise


def defaults(classes: Cache) -> list[Object]:
    """The classes for those who name none."""
    ours = (each for each in classes.list() if each["driver"] == DRIVER)
    return [each for each in ours if annotation(each, DEFAULT_CLASS) == "true"]


def snapshot_class(*, is_default: bool) -> Object:
    metadata: Object = {"name": LOCAL_CLASS}
    if is_default:
        metadata["annotations"] = {DEFAULT_CLASS: "true"}
    return {
        "apiVersion": SNAPSHOT_CLASSES.api_version,
        "kind": SNAPSHOT_CLASSES.kind,
        "metadata": metadata,
        "driver": DRIVER,
        "deletionPolicy": "Delete",
    }
