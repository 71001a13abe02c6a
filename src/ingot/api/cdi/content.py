"""What claims and snapshots hold, a disk or the files of an archive, as far as they tell."""

from ingot.api.cdi.names import CONTENT_TYPE
from ingot.api.object import Object


def told(obj: Object) -> str:
    """What a claim or a snapshot says itself; "" where it says nothing."""
    return str((obj["metadata"].get("annotations") or {}).get(CONTENT_TYPE) or "")


def claim_name(snapshot: Object) -> str:
    """The claim that a snapshot was taken of, which need not be there any more; "" for other snapshots."""
    return str((snapshot["spec"].get("source") or {}).get("persistentVolumeClaimName") or "")


def of_snapshot(snapshot: Object, claim: Object | None) -> str:
    """What a snapshot holds: by its own word, else by that of the claim of `claim_name`. "" where neither says it.

    A claim that is younger than the snapshot is another one of that name.
    """
    if claim is None or _made(claim) > _made(snapshot):
        return told(snapshot)
    return told(snapshot) or told(claim)


def _made(obj: Object) -> str:
    return str(obj["metadata"].get("creationTimestamp", ""))
