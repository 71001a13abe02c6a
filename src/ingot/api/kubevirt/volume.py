"""A volume of a machine: where the bytes are, who may use them, and whether the guest works on a copy."""

from typing import Annotated, Literal

import msgspec

from ingot.api.kubevirt import endpoints, sources
from ingot.api.machinery import UNSET, Field, Label, Opt, Rule, Shape

# The sources' names on the wire; exactly one of them is in a volume.
SOURCES = (
    "cloudInitConfigDrive",
    "cloudInitNoCloud",
    "configMap",
    "container",
    "containerDisk",
    "dataVolume",
    "downwardAPI",
    "downwardMetrics",
    "emptyDisk",
    "ephemeral",
    "gluster",
    "hostDisk",
    "http",
    "iscsi",
    "memoryDump",
    "nbd",
    "networkVolume",
    "persistentVolumeClaim",
    "rbd",
    "secret",
    "serviceAccount",
    "sysprep",
)

AccessMode = Literal["write-exclusive", "write-shared", "read-shared"]
CopyMode = Literal["none", "copy-on-write", "copy-on-read", "clone"]


class Copy(Shape):
    """Whether the guest works on the source itself or on local data that goes when it leaves the node."""

    RULES = (
        Rule(
            "!has(self.usageType) || self.mode != 'none'",
            "a usage type says where the local copy is kept: it needs a mode other than none",
            ".usageType",
        ),
    )

    mode: Annotated[
        CopyMode,
        Field(
            "none, the source itself; copy-on-write, an overlay with what the guest writes; copy-on-read, an "
            "overlay that keeps what is read too; clone, a full copy made first."
        ),
    ] = "none"
    usage_type: Annotated[
        Opt[Label], Field("The usage type of the node's storage that keeps it; absent for the default one.")
    ] = UNSET


class Driver(Shape):
    """What connects a claim to the guest."""

    name: Annotated[
        Literal["qemu", "kubelet"],
        Field("qemu, its own network driver, by the volume's details; kubelet, the mount that it makes."),
    ]


_CLAIMS = "has(self.persistentVolumeClaim) || has(self.dataVolume) || has(self.ephemeral)"
_ONE_SOURCE = f"[{', '.join(f'has(self.{name})' for name in SOURCES)}].filter(each, each).size() == 1"


class Volume(Shape):
    """A named volume: exactly one source, and how it is used."""

    RULES = (
        Rule(_ONE_SOURCE, "a volume has exactly one source"),
        Rule(
            f"!has(self.driver) || {_CLAIMS}",
            "a driver can be chosen for a persistentVolumeClaim, dataVolume or ephemeral volume",
            ".driver",
        ),
        Rule(
            "!has(self.http) || !has(self.accessMode) || self.accessMode == 'read-shared'",
            "an http source can only be read: accessMode must be read-shared",
            ".accessMode",
        ),
        Rule(
            "!has(self.networkVolume) || !self.networkVolume.readOnly || !has(self.accessMode) "
            "|| self.accessMode == 'read-shared'",
            "a network volume is read-only unless networkVolume.readOnly is false",
            ".accessMode",
        ),
    )

    name: Annotated[Label, Field("The volume's name, to which disks refer.")]
    access_mode: Annotated[
        Opt[AccessMode],
        Field(
            "What other machines may do with the same storage: write-exclusive, nothing; write-shared, read "
            "and write; read-shared, read, and so does this one."
        ),
    ] = UNSET
    copy: Opt[Copy] = UNSET
    driver: Opt[Driver] = UNSET

    persistent_volume_claim: Opt[sources.ClaimSource] = UNSET
    data_volume: Opt[sources.DataVolumeSource] = UNSET
    ephemeral: Opt[sources.EphemeralSource] = UNSET
    container_disk: Opt[sources.ContainerDisk] = UNSET
    empty_disk: Opt[sources.EmptyDiskSource] = UNSET
    host_disk: Opt[sources.HostDisk] = UNSET
    cloud_init_no_cloud: Opt[sources.CloudInit] = UNSET
    cloud_init_config_drive: Opt[sources.CloudInit] = UNSET
    config_map: Opt[sources.ConfigMapSource] = UNSET
    secret: Opt[sources.SecretSource] = UNSET
    service_account: Opt[sources.ServiceAccountSource] = UNSET
    sysprep: Opt[sources.SysprepSource] = UNSET
    downward_api: Opt[sources.DownwardApiSource] = msgspec.field(name="downwardAPI", default=UNSET)
    downward_metrics: Opt[sources.DownwardMetricsSource] = UNSET
    memory_dump: Opt[sources.MemoryDumpSource] = UNSET

    network_volume: Opt[endpoints.NetworkVolume] = UNSET
    iscsi: Opt[endpoints.IscsiSource] = UNSET
    rbd: Opt[endpoints.RbdSource] = UNSET
    nbd: Opt[endpoints.NbdSource] = UNSET
    gluster: Opt[endpoints.GlusterSource] = UNSET
    http: Opt[endpoints.HttpSource] = UNSET
    container: Opt[endpoints.ContainerSource] = UNSET
