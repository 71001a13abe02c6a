"""Names that external-snapshotter gives to snapshots, and what is read of their objects."""

from datetime import UTC, datetime

from ingot.api.object import Object, uid_of
from ingot.standalone.volumes.words import LOCAL_PROVISIONER

DRIVER = LOCAL_PROVISIONER
_PREFIX = "snapshot.storage.kubernetes.io"
# A snapshot stays while a claim is filled from it, and while its content is there.
AS_SOURCE = f"{_PREFIX}/volumesnapshot-as-source-protection"
BOUND = f"{_PREFIX}/volumesnapshot-bound-protection"
# A content stays while its snapshot is there, a claim while a snapshot is taken of it.
CONTENT_BOUND = f"{_PREFIX}/volumesnapshotcontent-bound-protection"
CLAIM_AS_SOURCE = f"{_PREFIX}/pvc-as-source-protection"
BEING_DELETED = f"{_PREFIX}/volumesnapshot-being-deleted"
DEFAULT_CLASS = f"{_PREFIX}/is-default-class"


def content_name(uid: str) -> str:
    """The name of the content that is made for the snapshot of that uid."""
    return f"snapcontent-{uid}"


def handle_name(uid: str) -> str:
    """What the storage calls the snapshot of that uid."""
    return f"snapshot-{uid}"


def handle_of(content: Object) -> str:
    """What the storage calls a content: one that was there before, or the one to be made."""
    given = content["spec"]["source"].get("snapshotHandle")
    return str(given or handle_name(content["spec"]["volumeSnapshotRef"].get("uid", "")))


def belongs_to(content: Object, snapshot: Object) -> bool:
    """Whether the content is this very snapshot's."""
    return bool(content["spec"]["volumeSnapshotRef"].get("uid") == uid_of(snapshot))


def content_of(snapshot: Object) -> str:
    """The name of the content that the snapshot has or is to have."""
    given = snapshot["spec"]["source"].get("volumeSnapshotContentName")
    return str(given or content_name(uid_of(snapshot)))


def moment(nanoseconds: int) -> str:
    """A time of a content as a snapshot writes it."""
    return datetime.fromtimestamp(nanoseconds // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
