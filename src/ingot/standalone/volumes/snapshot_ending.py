"""The end of a VolumeSnapshot: nobody needs it any more, its content is dealt with, its claim is free."""

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import SNAPSHOT_CONTENTS, SNAPSHOTS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.kube.cache import Cache, Key
from ingot.kube.client import Client
from ingot.kube.objects import is_deleting
from ingot.standalone.volumes.finalizers import let_go
from ingot.standalone.volumes.snapshot_store import waiting_for
from ingot.standalone.volumes.snapshot_words import (
    AS_SOURCE,
    BEING_DELETED,
    BOUND,
    CLAIM_AS_SOURCE,
    belongs_to,
    content_of,
)


class Ending:
    """Takes the steps towards the end of snapshots, and lets go of what they held."""

    def __init__(self, client: Client, snapshots: Cache, claims: Cache) -> None:
        self._client = client
        self._snapshots = snapshots
        self._claims = claims

    async def step(self, snapshot: Object) -> None:
        """Take the next step of a snapshot that is being deleted; the last lets it go."""
        if waiting_for(snapshot, self._claims):
            return
        content = await self._content(snapshot)
        if content is not None and not await self._is_settled(content):
            return
        await self.release_claim(snapshot)
        await let_go(self._client, SNAPSHOTS, snapshot, AS_SOURCE, BOUND)

    async def _content(self, snapshot: Object) -> Object | None:
        """The content as the server has it: what was made a moment ago must not be missed."""
        try:
            content = await self._client.get(SNAPSHOT_CONTENTS, content_of(snapshot))
        except ApiError as error:
            if error.code != 404:
                raise
            return None
        return content if belongs_to(content, snapshot) else None

    async def _is_settled(self, content: Object) -> bool:
        """Tell the content that its snapshot goes; whether that may go now: at once, or when the content has."""
        name = name_of(content)
        if BEING_DELETED not in (content["metadata"].get("annotations") or {}):
            change = {"metadata": {"uid": uid_of(content), "annotations": {BEING_DELETED: "yes"}}}
            await self._client.patch(SNAPSHOT_CONTENTS, name, change)
        if content["spec"]["deletionPolicy"] == "Retain":
            return not is_deleting(content)
        if not is_deleting(content):
            await self._client.delete(SNAPSHOT_CONTENTS, name, uid=uid_of(content))
        return False

    async def release_claim(self, snapshot: Object) -> None:
        """Let go of the claim that the snapshot was taken of, unless another one is being taken."""
        name = snapshot["spec"]["source"].get("persistentVolumeClaimName", "")
        claim = self._claims.get(Key(namespace_of(snapshot), name))
        if claim is None or any(_is_taking(each, name) for each in self._others(snapshot)):
            return
        await let_go(self._client, VOLUME_CLAIMS, claim, CLAIM_AS_SOURCE)

    def _others(self, snapshot: Object) -> list[Object]:
        here = self._snapshots.list(namespace_of(snapshot))
        return [each for each in here if uid_of(each) != uid_of(snapshot)]


def _is_taking(snapshot: Object, claim: str) -> bool:
    """Whether the snapshot is of that claim, and not there yet."""
    of_it = snapshot["spec"]["source"].get("persistentVolumeClaimName") == claim
    return of_it and not is_deleting(snapshot) and not (snapshot.get("status") or {}).get("readyToUse")
