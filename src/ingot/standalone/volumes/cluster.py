"""Which API server's objects these are."""

from ingot.api.object import uid_of
from ingot.api.resources import NAMESPACES
from ingot.kube.client import Client


class Cluster:
    """What tells this API server's objects from those of another that used the directory before."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._uid = ""

    async def uid(self) -> str:
        if not self._uid:
            self._uid = uid_of(await self._client.get(NAMESPACES, "kube-system"))
        return self._uid
