"""What can be told of disks and volumes by their objects alone."""

from ingot.api.object import Object

_FORMATTED = ("networkVolume", "iscsi", "rbd", "nbd", "gluster", "http")


# The kinds of devices, and KubeVirt's default bus for each.
DEFAULT_BUS = {"disk": "virtio", "cdrom": "sata", "lun": "scsi"}


def kind_of(disk: Object) -> str:
    """disk, cdrom or lun; a disk unless told."""
    return next((kind for kind in DEFAULT_BUS if kind in disk), "disk")


def bus_of(disk: Object) -> str:
    """The bus that the device is on, the default one of its kind unless told."""
    kind = kind_of(disk)
    return str((disk.get(kind) or {}).get("bus") or DEFAULT_BUS[kind])


def copy_mode(volume: Object) -> str:
    """What the guest works on; an ephemeral volume is always below an overlay."""
    if "ephemeral" in volume:
        return "copy-on-write"
    return str((volume.get("copy") or {}).get("mode") or "none")


def format_of(volume: Object) -> str:
    """The format that the volume's source states; raw for those that have no other."""
    return next((str(volume[source].get("format", "raw")) for source in _FORMATTED if source in volume), "raw")


def scheme_of(volume: Object) -> str:
    """The scheme of a network volume; "" for all others."""
    if "networkVolume" not in volume:
        return ""
    return str(volume["networkVolume"]["uri"]).partition("://")[0].lower()


def is_read_only(volume: Object) -> bool:
    """Whether the source is only read, whatever the device."""
    network: Object = volume.get("networkVolume") or {}
    return bool(
        volume.get("accessMode") == "read-shared"
        or "http" in volume
        or (network and network.get("readOnly", True))
        or (volume.get("persistentVolumeClaim") or {}).get("readOnly")
    )


def takes_lun(volume: Object) -> bool:
    """Whether there may be a SCSI device behind the volume. A claim has one when it is of a block volume."""
    if "persistentVolumeClaim" in volume or "dataVolume" in volume:
        return True
    return ("iscsi" in volume or scheme_of(volume) == "iscsi") and format_of(volume) == "raw"


def claim_of(volume: Object) -> str:
    """The claim that a volume may write to; a DataVolume has one of its own name. "" for all others."""
    if "persistentVolumeClaim" in volume:
        return str(volume["persistentVolumeClaim"].get("claimName", ""))
    if "dataVolume" in volume:
        return str(volume["dataVolume"].get("name", ""))
    return ""
