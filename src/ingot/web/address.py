"""Where uploads go, and what else holds, for those who ask the API: in the status of the one CDIConfig."""

from collections.abc import Callable

from ingot.api.cdi.config import NAME
from ingot.api.object import Object
from ingot.api.resources import CDI_CONFIGS
from ingot.api.status import ApiError
from ingot.kube.cache import Key
from ingot.kube.change import patch_status
from ingot.kube.client import Client
from ingot.kube.controller import Controller
from ingot.kube.manager import Manager
from ingot.kube.objects import copy_of, is_deleting

KEY = Key("", NAME)


def url_of(place: str) -> str:
    """How clients are told of HOST:PORT: those of CDI put https:// before a name, and cannot read a port behind one."""
    host, _, port = place.rpartition(":")
    return host if port == "443" else f"https://{place}"


class Address:
    """Keeps the address in the status, or the one that the spec names instead. Makes the object if there is none.

    `place` is HOST:PORT; `authority` tells whom to trust, in PEM.
    """

    def __init__(self, manager: Manager, place: str, authority: Callable[[], str]) -> None:
        self._client: Client = manager.client
        self._configs = manager.informer(CDI_CONFIGS, field_selector=f"metadata.name={NAME}")
        self._url = url_of(place)
        self._authority = authority
        self.controller = Controller("upload-address", self.reconcile, workers=1).watch(self._configs)
        self.controller.queue.add(KEY)
        manager.add(self.controller)

    async def reconcile(self, key: Key) -> None:
        if key != KEY:
            return
        config = self._configs.cache.get(key) or await self._made()
        if is_deleting(config):
            return
        wanted = copy_of(config)
        status = wanted.setdefault("status", {})
        given = config["spec"].get("uploadProxyURLOverride")
        status["uploadProxyURL"] = given or self._url
        status["preallocation"] = bool(config["spec"].get("preallocation"))
        for field in ("importProxy", "imagePullSecrets"):
            status.pop(field, None)
            if field in config["spec"]:
                status[field] = config["spec"][field]
        if not given and (authority := self._authority()):
            status["uploadProxyCA"] = authority
        else:
            status.pop("uploadProxyCA", None)
        await patch_status(self._client, CDI_CONFIGS, config, wanted)

    async def _made(self) -> Object:
        config: Object = {
            "apiVersion": CDI_CONFIGS.api_version,
            "kind": CDI_CONFIGS.kind,
            "metadata": {"name": NAME},
            "spec": {},
        }
        try:
            return await self._client.create(CDI_CONFIGS, config)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            return await self._client.get(CDI_CONFIGS, NAME)
