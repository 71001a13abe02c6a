"""Names of snapshots, restores and what is made for them: KubeVirt's own, so that its tools find them."""

from datetime import UTC, datetime

from ingot.api.object import Object, namespace_of, uid_of
from ingot.api.snapshot.saving import Stage
from ingot.kube.cache import Key

SNAPSHOT_FINALIZER = "snapshot.kubevirt.io/vmsnapshot-protection"
RESTORE_FINALIZER = "snapshot.kubevirt.io/vmrestore-protection"
# On a machine of which a snapshot is being made: it stays until that is done.
SOURCE_FINALIZER = "snapshot.kubevirt.io/snapshot-source-protection"
SOURCE_NAME = "snapshot.kubevirt.io/source-vm-name"
SOURCE_NAMESPACE = "snapshot.kubevirt.io/source-vm-namespace"
# On what a restore made: the restore's name. On a machine: the uid of the restore that it was last made by.
RESTORE_NAME = "restore.kubevirt.io/name"
LAST_RESTORE = "restore.kubevirt.io/lastRestoreUID"

_LABEL_LENGTH = 63

READY, PROGRESSING, FAILURE = "Ready", "Progressing", "Failure"
# What a snapshot says of a machine that ran.
ONLINE = "Online"
IN_PROGRESS, SUCCEEDED, FAILED, DELETING = "InProgress", "Succeeded", "Failed", "Deleting"


def content_name(snapshot: Object) -> str:
    """The content of a machine's snapshot."""
    return f"vmsnapshot-content-{uid_of(snapshot)}"


def volume_snapshot_name(snapshot: Object, volume: str) -> str:
    """The VolumeSnapshot of one of the machine's volumes."""
    return f"vmsnapshot-{uid_of(snapshot)}-volume-{volume}"


def source_labels(content: Object) -> dict[str, str]:
    """Labels of what is made for a content: the machine that it is of, as far as labels can hold that."""
    machine = content["spec"]["source"]["virtualMachine"]["metadata"]
    labels = {SOURCE_NAME: machine["name"], SOURCE_NAMESPACE: machine["namespace"]}
    return {key: text for key, text in labels.items() if len(text) <= _LABEL_LENGTH}


def machine_of(content: Object) -> list[Key]:
    """The machine that a content is of; none for one that somebody else has made without."""
    given = (content["spec"]["source"].get("virtualMachine") or {}).get("metadata")
    return [Key(namespace_of(content), given["name"])] if isinstance(given, dict) and "name" in given else []


def source_of(snapshot: Object) -> list[Key]:
    """The machine that a snapshot is of."""
    return [Key(namespace_of(snapshot), snapshot["spec"]["source"]["name"])]


def phase_of(snapshot: Object) -> str:
    return str((snapshot.get("status") or {}).get("phase") or "")


def restore_of(machine: Object) -> str:
    """The name of the restore that is replacing the machine's disks, "" if none is."""
    return str((machine.get("status") or {}).get("restoreInProgress") or "")


def is_ready(obj: Object | None) -> bool:
    """Whether a snapshot of a volume or machine, or a content, can be used."""
    return bool(((obj or {}).get("status") or {}).get("readyToUse"))


def is_online(snapshot: Object) -> bool:
    """Whether the machine ran when its snapshot was begun."""
    return ONLINE in ((snapshot.get("status") or {}).get("indications") or ())


def is_copying(content: Object) -> bool:
    """Whether full copies of the moment that a content holds are being made, or are there."""
    stage = ((content.get("status") or {}).get("copying") or {}).get("stage")
    return stage in (Stage.COPYING, Stage.DONE)


def seconds_at(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).astimezone(UTC).timestamp()
