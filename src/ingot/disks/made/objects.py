"""What made disks are filled with: the data of Secrets and ConfigMaps in the machine's namespace."""

import base64
import binascii
from dataclasses import dataclass

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import CONFIG_MAPS, SECRETS
from ingot.api.status import ApiError
from ingot.disks.source.refusal import refusal
from ingot.kube.client import Client


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads for one volume, so that every refusal names it."""

    volume: str
    namespace: str
    client: Client

    async def secret(self, name: str, field: str, optional: bool = False) -> dict[str, bytes]:
        """The keys of a Secret; none of them when it may be missing and is. Raises DiskFault."""
        data = (await self._get(SECRETS, name, field, optional)).get("data") or {}
        return {key: self._decoded(value, f"Secret {name!r}, key {key!r}") for key, value in data.items()}

    async def config_map(self, name: str, field: str, optional: bool = False) -> dict[str, bytes]:
        """The keys of a ConfigMap; none of them when it may be missing and is. Raises DiskFault."""
        found = await self._get(CONFIG_MAPS, name, field, optional)
        texts = {key: value.encode() for key, value in (found.get("data") or {}).items()}
        binary = found.get("binaryData") or {}
        return texts | {key: self._decoded(value, f"ConfigMap {name!r}, key {key!r}") for key, value in binary.items()}

    async def _get(self, resource: Resource, name: str, field: str, optional: bool) -> Object:
        try:
            return await self.client.get(resource, name, self.namespace)
        except ApiError as error:
            if error.code != 404:
                raise
            if optional:
                return {}
        where = f"does not exist in namespace {self.namespace!r}: create it"
        raise refusal(self.volume, f"{resource.kind}NotFound", f"{resource.kind} {name!r} ({field}) {where}")

    def _decoded(self, value: str, what: str) -> bytes:
        try:
            return base64.b64decode(value)
        except binascii.Error:
            raise refusal(self.volume, "DataInvalid", f"{what} is not base64: correct it") from None
