"""The key that upload tokens are signed with: in a Secret of Ingot's own namespace, made when it is first needed."""

import asyncio
import base64
import binascii
import secrets

from ingot.api.kubevirt.names import SYSTEM_NAMESPACE
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import NAMESPACES, SECRETS
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.clock import SYSTEM, Clock

NAME = "ingot-upload-key"
_FIELD = "key"
_BYTES = 32
# So soon a key that was replaced, by deleting its Secret, is no longer good.
_SECONDS = 30.0


class SigningKey:
    """The key, asked for once in a while, however many want it."""

    def __init__(self, client: Client, clock: Clock = SYSTEM) -> None:
        self._client = client
        self._clock = clock
        self._key = b""
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def get(self) -> bytes:
        """Raises ApiError, also for a Secret that somebody else has put there."""
        async with self._asking:
            if self._clock.monotonic() >= self._until:
                self._key = _key_of(await self._secret())
                self._until = self._clock.monotonic() + _SECONDS
            return self._key

    async def _secret(self) -> Object:
        try:
            return await self._client.get(SECRETS, NAME, SYSTEM_NAMESPACE)
        except ApiError as error:
            if error.code != 404:
                raise
        made = base64.b64encode(secrets.token_bytes(_BYTES)).decode()
        wanted = {"metadata": {"name": NAME, "namespace": SYSTEM_NAMESPACE}, "data": {_FIELD: made}}
        try:
            await self._create(SECRETS, wanted)
        except ApiError as error:
            if error.code != 404:
                raise
            # On a cluster the namespace is there, and nobody here has the right to make one.
            await self._create(NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
            await self._create(SECRETS, wanted)
        return await self._client.get(SECRETS, NAME, SYSTEM_NAMESPACE)

    async def _create(self, resource: Resource, obj: Object) -> None:
        try:
            await self._client.create(resource, {**obj, "apiVersion": resource.api_version, "kind": resource.kind})
        except ApiError as error:
            if error.code != 409:
                raise


def _key_of(secret: Object) -> bytes:
    try:
        key = base64.b64decode((secret.get("data") or {}).get(_FIELD, ""))
    except binascii.Error:
        key = b""
    if len(key) < _BYTES:
        why = f"Secret {SYSTEM_NAMESPACE}/{NAME} has no key of {_BYTES} bytes in {_FIELD}: delete it, and one is made"
        raise ApiError(500, "InternalError", why)
    return key
