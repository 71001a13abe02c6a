"""CDIConfig: where uploads go, and what holds for all volumes of a cluster."""

from typing import Annotated, TypeAlias

import msgspec

from ingot.api.machinery import UNSET, Field, Int32, Kind, Opt, Raw, Rule, Shape, Version, kind
from ingot.api.machinery.meta import LocalObjectReference, ResourceRequirements

# The one object of the kind.
NAME = "config"

Share: TypeAlias = Annotated[
    str, Field("A part of the whole, from 0 to 1, with at most three decimals.", pattern=r"^(0(\.[0-9]{1,3})?|1)$")
]
PullSecrets: TypeAlias = Annotated[
    list[LocalObjectReference], Field("The secrets with which images are pulled.", list_type="atomic")
]


class FilesystemOverhead(Shape):
    """How much of a volume its filesystem needs for itself. Not used."""

    overall: Annotated[Opt[Share], Field("Of every volume.")] = msgspec.field(default=UNSET, name="global")
    storage_class: Annotated[Opt[dict[str, Share]], Field("Of those of a StorageClass, by its name.")] = UNSET


class ImportProxy(Shape):
    """The way out, where a proxy is in it."""

    http_proxy: Annotated[Opt[str], Field("The proxy for http.")] = msgspec.field(default=UNSET, name="HTTPProxy")
    https_proxy: Annotated[Opt[str], Field("The proxy for https.")] = msgspec.field(default=UNSET, name="HTTPSProxy")
    no_proxy: Annotated[Opt[str], Field("Hosts that are reached without, with commas between.")] = UNSET
    trusted_ca_proxy: Annotated[Opt[str], Field("Not used: name the authorities in certConfigMap.")] = msgspec.field(
        default=UNSET, name="trustedCAProxy"
    )


class ConfigSpec(Shape):
    """What is wanted of all volumes."""

    upload_proxy_url_override: Annotated[
        Opt[str], Field("The address that uploads are to be sent to, where it differs from the one that is found.")
    ] = msgspec.field(default=UNSET, name="uploadProxyURLOverride")
    import_proxy: Opt[ImportProxy] = UNSET
    scratch_space_storage_class: Annotated[Opt[str], Field("Not used: what is put aside is on the node.")] = UNSET
    pod_resource_requirements: Annotated[
        Opt[ResourceRequirements], Field("What the pods that fill volumes ask for, where it differs from the default.")
    ] = UNSET
    feature_gates: Annotated[Opt[list[str]], Field("Not used: names of features.", list_type="atomic")] = UNSET
    filesystem_overhead: Annotated[Opt[FilesystemOverhead], Field("Not used: it is 0.055 for all.")] = UNSET
    preallocation: Annotated[Opt[bool], Field("Whether all blocks are allocated at once, unless a volume says.")] = (
        UNSET
    )
    insecure_registries: Annotated[
        Opt[list[str]],
        Field("Hosts of registries that need neither prove who they are nor TLS.", list_type="atomic"),
    ] = UNSET
    data_volume_ttl_seconds: Annotated[Opt[Int32], Field("Not used: DataVolumes stay.")] = msgspec.field(
        default=UNSET, name="dataVolumeTTLSeconds"
    )
    tls_security_profile: Annotated[Opt[Raw], Field("Not used: versions and ciphers are OpenSSL's.")] = UNSET
    image_pull_secrets: Opt[PullSecrets] = UNSET
    log_verbosity: Annotated[Opt[Int32], Field("Not used.")] = UNSET


class ConfigStatus(Shape):
    """What holds."""

    upload_proxy_url: Annotated[Opt[str], Field("The address that uploads are sent to.")] = msgspec.field(
        default=UNSET, name="uploadProxyURL"
    )
    upload_proxy_ca: Annotated[Opt[str], Field("The authority to trust there, in PEM.")] = msgspec.field(
        default=UNSET, name="uploadProxyCA"
    )
    import_proxy: Opt[ImportProxy] = UNSET
    scratch_space_storage_class: Annotated[Opt[str], Field("Not filled.")] = UNSET
    default_pod_resource_requirements: Annotated[Opt[ResourceRequirements], Field("Not filled.")] = UNSET
    filesystem_overhead: Annotated[Opt[FilesystemOverhead], Field("Not filled.")] = UNSET
    preallocation: Annotated[Opt[bool], Field("Whether all blocks are allocated at once, unless a volume says.")] = (
        UNSET
    )
    image_pull_secrets: Opt[PullSecrets] = UNSET


@kind(
    group="cdi.kubevirt.io",
    plural="cdiconfigs",
    name="CDIConfig",
    namespaced=False,
    versions=(Version("v1beta1"),),
)
class CdiConfig(Kind, kw_only=True):
    """What holds for all volumes of the cluster. There is one, called config."""

    RULES = (Rule(f"self.metadata.name == '{NAME}'", f"only the one named {NAME} is looked at", ".metadata.name"),)

    spec: ConfigSpec
    status: Opt[ConfigStatus] = UNSET
