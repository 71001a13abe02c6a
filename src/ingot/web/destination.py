"""Where an upload goes: from a token to the pod that waits for it."""

from dataclasses import dataclass

from ingot.api.cdi import names
from ingot.api.cdi.filling import is_direct, is_waiting
from ingot.api.object import Object, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import PODS, SECRETS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.owning import is_owned
from ingot.control.reach import Line, Reach
from ingot.control.uploads.credentials import Credentials, credentials_of
from ingot.control.uploads.key import SigningKey
from ingot.control.uploads.target import pod_name
from ingot.control.uploads.token import Grant, read
from ingot.control.volumes.marks import is_prime, phase_of
from ingot.kube.client import Client
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.objects import is_deleting


class Refused(Exception):
    """The token opens nothing. Why is not said: it would help those who guess."""


class NotReady(Exception):
    """The token is good, and the pod does not take uploads yet: `why`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Destination:
    """The pod of one upload: the way to it, how it is known, and the claim that it fills."""

    line: Line
    credentials: Credentials
    filled_uid: str


class Destinations:
    """Asks the API about each token: nothing is remembered, so that a claim that is filled or gone refuses at once."""

    def __init__(self, client: Client, reach: Reach, clock: Clock = SYSTEM) -> None:
        self._client = client
        self._reach = reach
        self._clock = clock
        self._key = SigningKey(client, clock)

    async def grant(self, token: str) -> Grant:
        """What the token says, of which nothing is looked at yet. Raises as `find` does."""
        found = read(await self._key.get(), token, self._clock.time())
        if found is None:
            raise Refused
        return found

    async def find(self, grant: Grant) -> Destination:
        """Raises Refused, NotReady, and ApiError or ConnectionFailed of the API."""
        claim = await self._get(VOLUME_CLAIMS, grant.name, grant.namespace)
        if claim is None or uid_of(claim) != grant.uid or not is_waiting(claim):
            raise Refused
        name = pod_name(claim)
        filled = await self._filled(claim)
        pod = await self._owned(PODS, name, filled)
        secret = await self._owned(SECRETS, name, filled)
        where = f"{grant.namespace}/{grant.name}"
        if filled is None or pod is None or secret is None or is_deleting(pod) or phase_of(pod) in ("", "Pending"):
            raise NotReady(f"{where} cannot be uploaded to yet: its pod is starting")
        if phase_of(pod) != "Running":
            raise Refused
        line = self._reach.line(pod, names.UPLOAD_PORT)
        if line is None:
            raise NotReady(f"{where} cannot be uploaded to yet: its pod has no address")
        try:
            credentials = credentials_of(secret)
        except ValueError as error:
            raise NotReady(
                f"{where} cannot be uploaded to: Secret {name} was changed; delete the pod {name}"
            ) from error
        return Destination(line, credentials, uid_of(filled))

    async def _filled(self, claim: Object) -> Object | None:
        """The claim whose pod takes the upload: the prime, unless that takes it itself. None while there is none."""
        if is_direct(claim):
            return claim
        found = await self._get(VOLUME_CLAIMS, names.prime_name(claim), namespace_of(claim))
        return found if found is not None and is_prime(found, claim) else None

    async def _owned(self, resource: Resource, name: str, filled: Object | None) -> Object | None:
        """What was made for that claim: one of the name that somebody else has made is as none."""
        if filled is None:
            return None
        found = await self._get(resource, name, namespace_of(filled))
        return found if found is not None and is_owned(found, filled) else None

    async def _get(self, resource: Resource, name: str, namespace: str) -> Object | None:
        try:
            return await self._client.get(resource, name, namespace)
        except ApiError as error:
            if error.code != 404:
                raise
            return None
