"""The older versions of kubevirt.io: v1alpha3, which has the present shapes, and v1alpha1, which had its own.

In v1alpha1 disks hold their own source, and machines have no template. It accepts the present shapes too, part by
part; `upgrade` turns the old parts into present ones.
"""

import copy
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from ingot.api.kubevirt.disk import ONE_TARGET, DiskOptions
from ingot.api.kubevirt.endpoints import ContainerSource, Host
from ingot.api.kubevirt.volume import CopyMode, Driver
from ingot.api.machinery import UNSET, Field, Int32, Label, Opt, Rule, Shape, UnsetType, Version
from ingot.api.machinery.kind import Converter
from ingot.api.machinery.meta import LocalObjectReference
from ingot.api.object import Object

LATER_ALPHA = Version(
    "v1alpha3",
    deprecated=True,
    deprecation_warning="kubevirt.io/v1alpha3 is kubevirt.io/v1 by its older name: use kubevirt.io/v1",
)


def first_alpha(overrides: Mapping[str, Any], upgrade: Converter) -> Version:
    """v1alpha1 of a kind; what it gives back is in the present shape."""
    warning = "kubevirt.io/v1alpha1 is accepted and stored in today's shape: use kubevirt.io/v1"
    return Version("v1alpha1", overrides=overrides, upgrade=upgrade, deprecated=True, deprecation_warning=warning)


# What these say does not survive the upgrade in a form that could still be checked.
DEVICE_PATTERN = "^[hsv]d[a-z]{1,2}$"
PORT_PATTERN = "^[0-9]{1,5}$"

CLAIM_TYPE = "PersistentVolumeClaim"
REGISTRY_TYPE = "ContainerRegistryDisk:v1alpha"


class AlphaHost(Shape):
    """A server."""

    name: Host
    port: Annotated[Opt[int | str], Field("Its port, as a number or text.", pattern=PORT_PATTERN)] = UNSET


class AlphaClaim(Shape):
    """A PersistentVolumeClaim of the same namespace."""

    RULES = (Rule("has(self.claimname) != has(self.claimName)", "claimname is needed, once"),)

    claimname: Annotated[Opt[str], Field("The claim's name.", min_length=1)] = UNSET
    claim_name: Annotated[Opt[str], Field("The same, as it is written today.", min_length=1)] = UNSET


class AlphaIscsi(Shape):
    """A logical unit of an iSCSI target."""

    host: AlphaHost
    portal: Annotated[str, Field("The target's name.", min_length=1)]
    lun: Annotated[Opt[Int32], Field("The logical unit; 0 unless told.", minimum=0, maximum=16383)] = UNSET
    secret_ref: Opt[LocalObjectReference] = UNSET


class AlphaRbd(Shape):
    """An image in a Ceph cluster."""

    host: AlphaHost
    image: Annotated[str, Field("The image's name.", min_length=1)]
    pool: Annotated[Opt[str], Field("The pool that holds it.")] = UNSET
    user: Annotated[Opt[str], Field("The user of Ceph.")] = UNSET
    secret_ref: Opt[LocalObjectReference] = UNSET


class AlphaNbd(Shape):
    """An export of an NBD server."""

    host: AlphaHost
    export: Annotated[Opt[str], Field("The export's name.")] = UNSET


class AlphaGluster(Shape):
    """A file on a GlusterFS volume."""

    host: AlphaHost
    volume: Annotated[str, Field("The volume's name.", min_length=1)]
    path: Annotated[str, Field("The file's path on the volume.", min_length=1)]


class AlphaHttp(Shape):
    """A file on a web server."""

    url: Annotated[str, Field("The file's address.", max_length=2048, pattern="^https?://.+")]
    secret_ref: Opt[LocalObjectReference] = UNSET


SOURCES = ("container", "gluster", "http", "iscsi", "nbd", "pvc", "rbd")


class AlphaSource(Shape):
    """Where a disk's bytes are: a name, for a disk with a type, or one of the others."""

    RULES = (Rule("!has(self.lun) || has(self.iscsi)", "lun goes with iscsi", ".lun"),)

    name: Annotated[Opt[str], Field("The claim or image of the disk's type.", min_length=1)] = UNSET
    pvc: Opt[AlphaClaim] = UNSET
    iscsi: Opt[AlphaIscsi] = UNSET
    lun: Annotated[
        Opt[Int32], Field("The logical unit, beside iscsi, as a container may answer.", minimum=0, maximum=16383)
    ] = UNSET
    rbd: Opt[AlphaRbd] = UNSET
    nbd: Opt[AlphaNbd] = UNSET
    gluster: Opt[AlphaGluster] = UNSET
    http: Opt[AlphaHttp] = UNSET
    container: Opt[ContainerSource] = UNSET


class AlphaTarget(Shape):
    """What the guest sees."""

    bus: Annotated[Opt[Literal["virtio", "sata", "scsi", "usb", "ide"]], Field("The bus.")] = UNSET
    device: Annotated[
        Opt[str],
        Field(
            "The device's name, such as sda. It names the disk, and the bus unless that is told.",
            pattern=DEVICE_PATTERN,
        ),
    ] = UNSET


class AlphaCopy(Shape):
    """Whether the guest works on a copy."""

    mode: Annotated[Opt[CopyMode], Field("How; none unless told.")] = UNSET
    usage_type: Annotated[Opt[Label], Field("The usage type of the storage that keeps it.")] = msgspec.field(
        name="usage-type", default=UNSET
    )


_ONE_SOURCE = f"[{', '.join(f'has(self.source.{name})' for name in SOURCES)}].filter(each, each).size() == 1"
_OLD_FIELDS = ("target", "driver", "copy", "access__dash__mode", "type")


class AlphaDisk(DiskOptions):
    """A disk with a source of its own, or one of the present shape that refers to a volume by name."""

    RULES = (
        ONE_TARGET,
        Rule("has(self.name) || has(self.source)", "a disk needs a source, or the name of a volume"),
        Rule(
            f"has(self.source) || !({' || '.join(f'has(self.{name})' for name in _OLD_FIELDS)})",
            "type, target, driver, access-mode and copy go with a source",
        ),
        Rule(
            f"!has(self.source) || (has(self.type) ? has(self.source.name) : {_ONE_SOURCE})",
            "a source has a name, with a type, or exactly one of " + ", ".join(SOURCES),
        ),
    )

    name: Annotated[Opt[Label], Field("The disk's name; made from the target's device unless told.")] = UNSET
    type: Annotated[
        Opt[Literal["PersistentVolumeClaim", "ContainerRegistryDisk:v1alpha"]], Field("What source.name names.")
    ] = UNSET
    source: Opt[AlphaSource] = UNSET
    target: Opt[AlphaTarget] = UNSET
    driver: Opt[Driver] = UNSET
    access_mode: Annotated[
        Opt[Literal["write-exclusive", "write-shared", "read-shared", "read-only"]],
        Field("What other machines may do; read-only is read-shared."),
    ] = msgspec.field(name="access-mode", default=UNSET)
    copy: Opt[AlphaCopy] = UNSET


def keeps_old_rules(value: Any) -> bool:
    """Whether a value is a disk of the old shape and can be upgraded. What is not is left for the schema to refuse."""
    try:
        disk = msgspec.convert(value, AlphaDisk)
    except msgspec.ValidationError:
        return False
    if disk.source is UNSET:
        return False
    given = [getattr(disk.source, name) for name in SOURCES if getattr(disk.source, name) is not UNSET]
    named = disk.source.name is not UNSET
    if (disk.type is UNSET and len(given) != 1) or (disk.type is not UNSET and not named):
        return False
    claim = disk.source.pvc
    if claim is not UNSET and (claim.claimname is UNSET) == (claim.claim_name is UNSET):
        return False
    ports = [source.host.port for source in given if hasattr(source, "host")]
    device = UNSET if disk.target is UNSET else disk.target.device
    return all(_fits(PORT_PATTERN, port) for port in ports) and _fits(DEVICE_PATTERN, device)


def _fits(pattern: str, value: int | str | UnsetType) -> bool:
    return value is UNSET or re.search(pattern, str(value)) is not None


# Not told apart by name: old disks have none until they are upgraded.
ALPHA_DISKS: Any = Annotated[list[AlphaDisk], Field("Disks, CD-ROM drives and LUNs.", max_items=256)]


def flat_machine(spec: Object) -> Object:
    """One with a template, or with the fields of an instance's spec in the template's place."""
    instance = copy.deepcopy(spec["properties"]["template"]["properties"]["spec"]["properties"])
    either = Rule("has(self.template) || has(self.domain)", "a template or a domain is needed")
    runs = Rule(
        "has(self.domain) ? !(has(self.running) && has(self.runStrategy)) : has(self.running) != has(self.runStrategy)",
        "exactly one of running and runStrategy is needed; without a template it may be neither",
    )
    made = {key: value for key, value in spec.items() if key != "required"}
    made["properties"] = {**instance, **spec["properties"]}
    made["x-kubernetes-validations"] = [either.schema(), runs.schema()]
    return made
