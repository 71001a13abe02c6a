"""Volumes that a schema accepts and that cannot be made or reached."""

import base64
import binascii
from collections.abc import Iterator

from ingot.api.kubevirt.causes import invalid, required
from ingot.api.kubevirt.size_faults import MOST_BYTES, number
from ingot.api.kubevirt.traits import claim_of, copy_mode, is_read_only, scheme_of
from ingot.api.object import Object
from ingot.api.status import Cause

# KubeVirt's limit for data in the object; a Secret may hold more.
MOST_INLINE = 2048
# ISO 9660's.
_MOST_LABEL = 32
# Of these a machine has one at most.
_SINGLE = ("serviceAccount", "memoryDump", "downwardMetrics")
# What a protocol has no use for, and why.
_USELESS = {
    "nbd": (
        ("secretRef", "certConfigMap"),
        "credentials and certificates need TLS: set tls or use nbds, or leave it out",
    ),
    "gluster": (("secretRef", "certConfigMap"), "Gluster is reached without credentials; leave it out"),
    "iscsi": (("certConfigMap",), "iSCSI has no TLS; leave it out"),
    "rbd": (("certConfigMap",), "Ceph's protocol has no certificates; leave it out"),
    "http": (("certConfigMap",), "http is not encrypted; use https, or leave it out"),
}
_REQUIRED = {"configMap": "name", "secret": "secretName", "serviceAccount": "serviceAccountName"}


def volume_faults(volumes: list[Object], disks: list[Object], path: str) -> Iterator[Cause]:
    """The faults of the volumes that are found at `path`, one by one and among each other."""
    for index, volume in enumerate(volumes):
        field = f"{path}[{index}]"
        yield from _cloud_inits(volume, field)
        yield from _capacities(volume, field)
        yield from _files(volume, field)
        yield from _ways(volume, field)
        yield from _secrets(volume, field)
    yield from _singles(volumes, path)
    yield from _claims(volumes, disks, path)


def _singles(volumes: list[Object], path: str) -> Iterator[Cause]:
    for kind in _SINGLE:
        for index in [index for index, volume in enumerate(volumes) if kind in volume][1:]:
            yield invalid(
                f"{path}[{index}].{kind}", volumes[index]["name"], f"{path} must have max one {kind} volume set"
            )


def _cloud_inits(volume: Object, path: str) -> Iterator[Cause]:
    for kind in ("cloudInitNoCloud", "cloudInitConfigDrive"):
        if kind not in volume:
            continue
        source, field = volume[kind], f"{path}.{kind}"
        forms = {
            "userdata": ("userData", "userDataBase64", "secretRef"),
            "networkdata": ("networkData", "networkDataBase64", "networkDataSecretRef"),
        }
        counts = {what: sum(name in source for name in names) for what, names in forms.items()}
        for what, count in counts.items():
            if count > 1:
                why = f"{field} must have only one {what} source set: one of {', '.join(forms[what])}"
                yield Cause(field, f"Invalid value: {why}")
        if not any(counts.values()):
            why = f"{field} must have at least one userdata source or one networkdata source set"
            yield required(field, why)
        for name in ("userData", "networkData"):
            yield from _inline(source, name, field)


def _inline(source: Object, name: str, path: str) -> Iterator[Cause]:
    """Data in the object itself: not too long, and base64 where it says so."""
    encoded, size = f"{name}Base64", len(str(source.get(name, "")).encode())
    field = f"{path}.{name}"
    if encoded in source:
        field = f"{path}.{encoded}"
        try:
            size = len(base64.b64decode("".join(source[encoded].split()), validate=True))
        except (binascii.Error, ValueError):
            yield Cause(field, f"Invalid value: {field} is not a valid base64 value")
    if size > MOST_INLINE:
        why = f"{field} exceeds {MOST_INLINE} byte limit: put it into a Secret"
        yield Cause(field, f"Too long: {why}", "FieldValueTooLong")


def _capacities(volume: Object, path: str) -> Iterator[Cause]:
    if "emptyDisk" in volume:
        yield from _capacity(volume["emptyDisk"]["capacity"], f"{path}.emptyDisk.capacity")
    host = volume.get("hostDisk")
    if host is None:
        return
    if not host["path"].startswith("/"):
        yield invalid(f"{path}.hostDisk.path", host["path"], "must be an absolute path")
    field = f"{path}.hostDisk.capacity"
    if "capacity" not in host:
        if host["type"] == "DiskOrCreate":
            yield required(field, f"{field} is required for hostDisk type '{host['type']}': the size of a new image")
        return
    if host["type"] == "Disk":
        why = f"{field} is allowed to pass only with {path}.hostDisk.type equal to 'DiskOrCreate'"
        yield invalid(field, host["capacity"], why)
    yield from _capacity(host["capacity"], field)


def _capacity(given: str | int, field: str) -> Iterator[Cause]:
    size = number(given)
    if size is not None and size <= 0:
        yield invalid(field, given, "must be greater than 0")
    elif size is not None and size > MOST_BYTES:
        yield invalid(field, given, "must be less than 8Ei")


def _files(volume: Object, path: str) -> Iterator[Cause]:
    """Volumes whose files are on a small disk: whose they are, and the disk's label."""
    for source, name in _REQUIRED.items():
        if source in volume and not volume[source].get(name):
            field = f"{path}.{source}.{name}"
            yield required(field, f"{field} is a required field")
    for source in ("configMap", "secret", "downwardAPI"):
        label = (volume.get(source) or {}).get("volumeLabel", "")
        if len(label) > _MOST_LABEL:
            yield invalid(f"{path}.{source}.volumeLabel", label, f"must be at most {_MOST_LABEL} characters")


def _ways(volume: Object, path: str) -> Iterator[Cause]:
    """How the source is used: what it does not allow."""
    if scheme_of(volume) in ("http", "https") and not volume["networkVolume"].get("readOnly", True):
        yield invalid(f"{path}.networkVolume.readOnly", "false", "a web server is only read from; leave it out")
    mode = (volume.get("copy") or {}).get("mode", "none")
    if "ephemeral" in volume and "persistentVolumeClaim" not in volume["ephemeral"]:
        yield required(f"{path}.ephemeral.persistentVolumeClaim", "the claim below the overlay")
    if "ephemeral" in volume and mode not in ("none", "copy-on-write"):
        why = f"an ephemeral volume is copy-on-write; for {mode} name the claim in persistentVolumeClaim"
        yield invalid(f"{path}.copy.mode", mode, why)


def _secrets(volume: Object, path: str) -> Iterator[Cause]:
    """Credentials and certificates that the protocol has no use for."""
    kind = next((kind for kind in ("networkVolume", "nbd", "http") if kind in volume), "")
    source: Object = volume.get(kind) or {}
    scheme = scheme_of(volume)
    if kind == "nbd":
        scheme = "nbds" if source.get("tls") else "nbd"
    elif kind == "http":
        scheme = str(source["url"]).partition("://")[0].lower()
    useless, why = _USELESS.get(scheme, ((), ""))
    for key in useless:
        if key in source:
            yield invalid(f"{path}.{kind}.{key}", source[key].get("name", ""), why)


def _claims(volumes: list[Object], disks: list[Object], path: str) -> Iterator[Cause]:
    """Two volumes of one machine that would write to the same claim."""
    by_name = {disk["name"]: disk for disk in disks}
    first: dict[str, str] = {}
    for index, volume in enumerate(volumes):
        claim, disk = claim_of(volume), by_name.get(volume["name"])
        if claim and disk is not None and _writes(volume, disk):
            other = first.setdefault(claim, f"{path}[{index}]")
            if other != f"{path}[{index}]":
                why = f"{other} writes to the same claim; set accessMode or copy.mode of one of them"
                yield invalid(f"{path}[{index}]", claim, why)


def _writes(volume: Object, disk: Object) -> bool:
    if copy_mode(volume) != "none" or is_read_only(volume) or volume.get("accessMode") == "write-shared":
        return False
    device: Object = disk.get("disk") or disk.get("lun") or {}
    return not (device.get("readonly") or "cdrom" in disk or disk.get("shareable"))
