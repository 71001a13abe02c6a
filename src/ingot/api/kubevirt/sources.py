"""Volume sources that Kubernetes objects hold: claims, images, configuration, and disks made on the spot."""

from typing import Annotated, Literal

from ingot.api.machinery import UNSET, Field, Opt, Quantity, Raw, Rule, Shape
from ingot.api.machinery.meta import LocalObjectReference

PullPolicy = Annotated[Opt[Literal["Always", "IfNotPresent", "Never"]], Field("When the image is pulled.")]
VolumeLabel = Annotated[Opt[str], Field("The label of the disk's filesystem, such as cidata or OEMDRV.")]


class ClaimSource(Shape):
    """A PersistentVolumeClaim of the same namespace."""

    claim_name: Annotated[str, Field("The claim's name.", min_length=1)]
    read_only: Annotated[Opt[bool], Field("Whether the claim is mounted for reading only.")] = UNSET
    hotpluggable: Annotated[Opt[bool], Field("Whether it may come and go while the machine runs.")] = UNSET


class PlainClaimSource(Shape):
    """A PersistentVolumeClaim of the same namespace, there for the machine's whole life."""

    claim_name: Annotated[str, Field("The claim's name.", min_length=1)]
    read_only: Annotated[Opt[bool], Field("Whether the claim is mounted for reading only.")] = UNSET


class DataVolumeSource(Shape):
    """A DataVolume of the same namespace, and the claim of that name that it fills."""

    name: Annotated[str, Field("The DataVolume's name.", min_length=1)]
    hotpluggable: Annotated[Opt[bool], Field("Whether it may come and go while the machine runs.")] = UNSET


class EphemeralSource(Shape):
    """A claim that is only read: what the guest writes goes to an overlay and away with the machine."""

    persistent_volume_claim: Annotated[Opt[PlainClaimSource], Field("The claim below the overlay.")] = UNSET


class EmptyDiskSource(Shape):
    """A new sparse disk that lives as long as the machine."""

    capacity: Annotated[Quantity, Field("Its size.")]


class HostDisk(Shape):
    """A disk image in a directory of the node."""

    path: Annotated[str, Field("The image's path on the node.", min_length=1)]
    type: Annotated[Literal["Disk", "DiskOrCreate"], Field("Whether the image must be there or is made when missing.")]
    capacity: Annotated[Opt[Quantity], Field("The size of an image that is made.")] = UNSET
    shared: Annotated[Opt[bool], Field("Whether the path is the same storage on every node.")] = UNSET


# ContainerRegistryDisk:v1alpha of the oldest API is iscsi-v1alpha. Later standards are added beside it.
RegistryDiskStandard = Literal["iscsi-v1alpha", "mount-v1", "nbd-v1"]


class ContainerDisk(Shape):
    """A disk in a container image, below /disk. Any number of machines start from one image; writes are lost."""

    image: Annotated[str, Field("The image's reference.", min_length=1)]
    image_pull_secret: Annotated[Opt[str], Field("The Secret with the registry's credentials.")] = UNSET
    image_pull_policy: PullPolicy = UNSET
    path: Annotated[Opt[str], Field("The disk's path in the image, where there are several.")] = UNSET
    standard: Annotated[
        Opt[RegistryDiskStandard],
        Field(
            "How the disk gets from the image to the guest: iscsi-v1alpha, a wrapper beside the machine serves "
            "it over iSCSI; mount-v1, the image is mounted on the node; nbd-v1, it is streamed on demand. "
            "Absent: the best that the node can do."
        ),
    ] = UNSET


class CloudInit(Shape):
    """Data for cloud-init in the guest, inline, in base64 or in a Secret."""

    secret_ref: Annotated[Opt[LocalObjectReference], Field("A Secret with the key userdata.")] = UNSET
    user_data: Annotated[Opt[str], Field("User data.")] = UNSET
    user_data_base64: Annotated[Opt[str], Field("User data in base64.")] = UNSET
    network_data_secret_ref: Annotated[Opt[LocalObjectReference], Field("A Secret with the key networkdata.")] = UNSET
    network_data: Annotated[Opt[str], Field("Network data.")] = UNSET
    network_data_base64: Annotated[Opt[str], Field("Network data in base64.")] = UNSET


class ConfigMapSource(Shape):
    """The keys of a ConfigMap as files on a disk."""

    name: Annotated[str, Field("The ConfigMap's name.")] = ""
    optional: Annotated[Opt[bool], Field("Whether it may be missing.")] = UNSET
    volume_label: VolumeLabel = UNSET


class SecretSource(Shape):
    """The keys of a Secret as files on a disk."""

    secret_name: Annotated[Opt[str], Field("The Secret's name.")] = UNSET
    optional: Annotated[Opt[bool], Field("Whether it may be missing.")] = UNSET
    volume_label: VolumeLabel = UNSET


class ServiceAccountSource(Shape):
    """The token of a ServiceAccount as a file on a disk."""

    service_account_name: Annotated[Opt[str], Field("The ServiceAccount's name.")] = UNSET


class DownwardApiSource(Shape):
    """Fields of the machine's own object as files on a disk."""

    fields: Annotated[Opt[list[Raw]], Field("The files, as in a pod's downwardAPI volume.")] = UNSET
    volume_label: VolumeLabel = UNSET


class DownwardMetricsSource(Shape):
    """A small disk with figures of the host."""


class MemoryDumpSource(Shape):
    """A claim that receives a dump of the guest's memory."""

    claim_name: Annotated[str, Field("The claim's name.", min_length=1)]
    read_only: Annotated[Opt[bool], Field("Whether the claim is mounted for reading only.")] = UNSET
    hotpluggable: Annotated[Opt[bool], Field("Whether it may come and go while the machine runs.")] = UNSET


class SysprepSource(Shape):
    """A Windows answer file from a Secret or a ConfigMap."""

    RULES = (Rule("has(self.secret) != has(self.configMap)", "exactly one of secret and configMap is needed"),)

    secret: Annotated[Opt[LocalObjectReference], Field("The Secret with the file.")] = UNSET
    config_map: Annotated[Opt[LocalObjectReference], Field("The ConfigMap with the file.")] = UNSET
