"""What a VolumeSnapshot was taken of, as the content says that it is bound to."""

from dataclasses import dataclass

from ingot.api.cdi import content
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import SNAPSHOT_CONTENTS
from ingot.control.writing import live
from ingot.kube.cache import Cache, Key
from ingot.kube.client import Client


@dataclass(frozen=True, slots=True)
class Taken:
    """Whose snapshot it is, and the volumeMode of its volume: "" where it was recorded before storage told that."""

    driver: str
    mode: str = ""

    def class_among(self, classes: Cache, *preferred: Object | None) -> Object | None:
        """A StorageClass whose volumes that driver makes, the first of the preferred if one does; None without one."""
        found = {name_of(each): each for each in classes.list() if each.get("provisioner") == self.driver}
        ranked = [name_of(each) for each in preferred if each is not None and name_of(each) in found]
        return found[(ranked or sorted(found))[0]] if found else None


def claim_of(snapshot: Object) -> Key:
    """The claim that it was taken of, which need not be there any more; one without a name for other snapshots."""
    return Key(namespace_of(snapshot), content.claim_name(snapshot))


async def taken_of(client: Client, snapshot: Object) -> Taken | None:
    """None while it is bound to no content, or to one that is another's."""
    name = (snapshot.get("status") or {}).get("boundVolumeSnapshotContentName")
    bound = await live(client, SNAPSHOT_CONTENTS, name) if name else None
    if bound is None:
        return None
    reference = bound["spec"].get("volumeSnapshotRef") or {}
    if (reference.get("namespace"), reference.get("name")) != (namespace_of(snapshot), name_of(snapshot)):
        return None
    return Taken(bound["spec"]["driver"], bound["spec"].get("sourceVolumeMode") or "")
