"""Claims: from a volume's words to the PersistentVolume behind them, and who carries it to the guest."""

from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.disks.source.refusal import refusal
from ingot.kube.client import Client

# PersistentVolumes whose details QEMU's own network drivers understand (B2).
_DIRECT = ("iscsi", "rbd")


def claim_name(volume: Object) -> str | None:
    """The claim that a machine's volume stands on; None for a volume that has none."""
    if "persistentVolumeClaim" in volume:
        return str(volume["persistentVolumeClaim"]["claimName"])
    if "dataVolume" in volume:
        return str(volume["dataVolume"]["name"])
    below = (volume.get("ephemeral") or {}).get("persistentVolumeClaim")
    return str(below["claimName"]) if below else None


def driver_of(volume: Object) -> str:
    """qemu, kubelet, or "" when the volume leaves the choice to us."""
    return str((volume.get("driver") or {}).get("name") or "")


def is_direct(pv: Object, driver: str) -> bool:
    """Whether QEMU reaches the volume by its own network driver, so that the kubelet need not attach it (B2, F4)."""
    return driver != "kubelet" and any(source in pv["spec"] for source in _DIRECT)


async def bound(volume: Object, namespace: str, client: Client) -> tuple[Object, Object]:
    """The claim of a volume and the PersistentVolume that it is bound to. Raises DiskFault."""
    name, claimed = str(volume["name"]), claim_name(volume) or ""
    claim = await _claim(name, claimed, namespace, client)
    phase = (claim.get("status") or {}).get("phase")
    if phase == "Lost":
        message = f"PersistentVolumeClaim {claimed!r} has lost its PersistentVolume: delete the claim and make it anew"
        raise refusal(name, "ClaimLost", message)
    if phase != "Bound":
        message = f"PersistentVolumeClaim {claimed!r} is not bound to a PersistentVolume: `kubectl describe` tells why"
        raise refusal(name, "ClaimNotBound", message)
    pv_name = str(claim["spec"].get("volumeName", ""))
    try:
        pv = await client.get(VOLUMES, pv_name)
    except ApiError as error:
        if error.code != 404:
            raise
        message = f"PersistentVolume {pv_name!r} of PersistentVolumeClaim {claimed!r} does not exist"
        raise refusal(name, "VolumeNotFound", message) from None
    _check_binding(name, claim, pv)
    return claim, pv


async def _claim(volume: str, claimed: str, namespace: str, client: Client) -> Object:
    try:
        return await client.get(VOLUME_CLAIMS, claimed, namespace)
    except ApiError as error:
        if error.code != 404:
            raise
        message = f"PersistentVolumeClaim {claimed!r} does not exist in namespace {namespace!r}: create it"
        raise refusal(volume, "ClaimNotFound", message) from None


def _check_binding(volume: str, claim: Object, pv: Object) -> None:
    """A claim may name any PersistentVolume; it is the volume that says whose it is."""
    owner = pv["spec"].get("claimRef") or {}
    if owner.get("uid") != uid_of(claim):
        holder = f"{owner.get('namespace')}/{owner.get('name')}" if owner else "nobody"
        message = (
            f"PersistentVolume {name_of(pv)!r} belongs to {holder}, not to PersistentVolumeClaim {name_of(claim)!r}"
        )
        raise refusal(volume, "ClaimNotBound", message)
