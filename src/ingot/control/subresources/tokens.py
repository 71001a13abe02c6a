"""Upload tokens for whoever may create UploadTokenRequests in the namespace of the claim."""

import msgspec

from ingot.api.cdi import names
from ingot.api.cdi.filling import is_waiting
from ingot.api.cdi.uploadtoken import UploadTokenRequest
from ingot.api.object import Object, split_api_version
from ingot.api.resources import UPLOAD_SOURCES, UPLOAD_TOKEN_REQUESTS, VOLUME_CLAIMS
from ingot.api.status import ApiError, Cause, bad_request, conflict, invalid
from ingot.control.uploads import token
from ingot.control.uploads.key import SigningKey
from ingot.control.uploads.target import is_target, source_name
from ingot.control.writing import live
from ingot.kube.client import Client
from ingot.kube.clock import SYSTEM, Clock

_GROUP, _PLURAL, _KIND = UPLOAD_TOKEN_REQUESTS.group, UPLOAD_TOKEN_REQUESTS.plural, UPLOAD_TOKEN_REQUESTS.kind


class UploadTokens:
    """Answers UploadTokenRequests. Who asks may: the API server has seen to that."""

    def __init__(self, client: Client, clock: Clock = SYSTEM) -> None:
        self._client = client
        self._clock = clock
        self._key = SigningKey(client, clock)

    async def create(self, namespace: str, version: str, body: bytes) -> Object:
        """The request with the token in its status.

        Raises ApiError: 400 and 422 for what is no request, 404 without the claim, 409 for one that is not waiting for
        an upload, or whose VolumeUploadSource is not there.
        """
        asked = _decoded(body)
        given = asked.get("metadata") or {}
        if given.get("namespace") not in (None, "", namespace):
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        name = asked["spec"]["pvcName"]
        claim = await self._client.get(VOLUME_CLAIMS, name, namespace)
        if not is_target(claim):
            why = "it is not filled by an upload: make a DataVolume with source.upload, name a VolumeUploadSource"
            why = f"{why} in its dataSourceRef, or give it the annotation {names.UPLOAD_TARGET}"
            raise conflict(VOLUME_CLAIMS.group, VOLUME_CLAIMS.plural, name, why)
        if not is_waiting(claim):
            why = "it waits for no upload: it is filled, has failed, or is being deleted"
            raise conflict(VOLUME_CLAIMS.group, VOLUME_CLAIMS.plural, name, why)
        if (source := source_name(claim)) and await live(self._client, UPLOAD_SOURCES, source, namespace) is None:
            why = f'{UPLOAD_SOURCES.kind} "{source}", which spec.dataSourceRef names, is not there: make it first'
            raise conflict(VOLUME_CLAIMS.group, VOLUME_CLAIMS.plural, name, why)
        signed = token.issue(await self._key.get(), claim, self._clock.time())
        return {
            **asked,
            "apiVersion": f"{_GROUP}/{version}",
            "kind": _KIND,
            "metadata": {**given, "namespace": namespace},
            "status": {"token": signed},
        }


def _decoded(body: bytes) -> Object:
    """The request, as one that can be read. Raises ApiError."""
    try:
        asked: Object = msgspec.json.decode(body, type=dict)
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(f"the body is no {_KIND} in JSON: {error}") from error
    group, _ = split_api_version(str(asked.get("apiVersion", _GROUP + "/")))
    if group != _GROUP or asked.get("kind", _KIND) != _KIND:
        raise bad_request(f"the body is a {asked.get('kind')!r} of {group!r}, and a {_KIND} of {_GROUP} is expected")
    try:
        request = UploadTokenRequest.from_object({"metadata": {}, **asked})
    except msgspec.ValidationError as error:
        raise ApiError(422, "Invalid", f"{_KIND}.{_GROUP} is invalid: {error}") from error
    if not request.spec.pvc_name:
        cause = Cause("spec.pvcName", "Required value: the claim to upload to", "FieldValueRequired")
        raise invalid(_GROUP, _KIND, str((asked.get("metadata") or {}).get("name", "")), [cause])
    return asked
