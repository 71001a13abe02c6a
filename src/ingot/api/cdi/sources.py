"""Where the content of a volume comes from: one type for each source of a DataVolume."""

from typing import Annotated, Literal

import msgspec

from ingot.api.machinery import UNSET, Field, Opt, Rule, Shape

SecretRef = Annotated[str, Field("The Secret, in the same namespace, that holds the credentials.")]
CertConfigMap = Annotated[
    str, Field("The ConfigMap, in the same namespace, that holds the certificate authorities to trust.")
]
Insecure = Annotated[bool, Field("Whether to go on when the server's certificate cannot be verified.")]
ContentType = Annotated[
    Literal["kubevirt", "archive"],
    Field("kubevirt, the default, for a disk image; archive for a tar file that is unpacked."),
]
NO_ARCHIVE = Rule(
    "!has(self.contentType) || self.contentType != 'archive' || !has(self.source) || "
    "!(has(self.source.blank) || has(self.source.registry) || has(self.source.nbd))",
    "a blank, registry or nbd source cannot give an archive; kubevirt is expected",
    ".contentType",
)
Preallocation = Annotated[bool, Field("Whether all blocks are allocated at once.")]

# As workers have it: nobody's address is longer, and what is a megabyte long fits into no pod.
_LONGEST = 8192
# Each is a file of the pod that sends it.
_MOST_HEADERS = 32
_Header = Annotated[str, Field(max_length=_LONGEST)]

CHECKSUM_PATTERN = "^(md5:[0-9a-fA-F]{32}|sha1:[0-9a-fA-F]{40}|sha256:[0-9a-fA-F]{64}|sha512:[0-9a-fA-F]{128})$"


class HttpSource(Shape, kw_only=True):
    """A file on a web server: a disk image, compressed or not, or an archive."""

    url: Annotated[str, Field("The address of the file, http:// or https://.", max_length=_LONGEST)]
    checksum: Annotated[
        Opt[str], Field("The digest that the file must have, as sha256:….", pattern=CHECKSUM_PATTERN)
    ] = UNSET
    secret_ref: Opt[SecretRef] = UNSET
    cert_config_map: Opt[CertConfigMap] = UNSET
    insecure_skip_verify: Opt[Insecure] = UNSET
    extra_headers: Annotated[
        Opt[list[_Header]],
        Field('Headers to send with each request, as "Name: value".', list_type="atomic", max_items=_MOST_HEADERS),
    ] = UNSET
    secret_extra_headers: Annotated[
        Opt[list[str]],
        Field("Secrets whose values are headers to send with each request.", list_type="atomic"),
    ] = UNSET


class S3Source(Shape, kw_only=True):
    """An object in a bucket that is served with the S3 protocol."""

    url: Annotated[str, Field("The address of the object, s3://, http:// or https://.", max_length=_LONGEST)]
    secret_ref: Opt[SecretRef] = UNSET
    cert_config_map: Opt[CertConfigMap] = UNSET


class GcsSource(Shape, kw_only=True):
    """An object in Google Cloud Storage."""

    url: Annotated[str, Field("The address of the object, gs://, http:// or https://.", max_length=_LONGEST)]
    secret_ref: Opt[SecretRef] = UNSET


class NbdSource(Shape, kw_only=True):
    """An export of an NBD server, copied whole."""

    url: Annotated[str, Field("The address of the export, nbd:// or nbds://.", max_length=_LONGEST)]
    secret_ref: Opt[SecretRef] = UNSET
    cert_config_map: Opt[CertConfigMap] = UNSET


class Platform(Shape):
    """Which image of a multi-platform reference is meant."""

    architecture: Annotated[Opt[str], Field("The processor architecture, such as amd64; the node's own if absent.")] = (
        UNSET
    )


class RegistrySource(Shape, kw_only=True):
    """A disk in a container image. A reference without tag stands for the newest version among all tags."""

    RULES = (
        Rule("has(self.url) != has(self.imageStream)", "exactly one of url and imageStream is expected"),
        Rule(
            "!has(self.imageStream) || (has(self.pullMethod) && self.pullMethod == 'node')",
            "an imageStream needs pullMethod: node",
            ".imageStream",
        ),
    )

    url: Annotated[
        Opt[str], Field("The image, as docker://registry/name:tag or oci-archive:///path.", max_length=_LONGEST)
    ] = UNSET
    image_stream: Annotated[Opt[str], Field("The OpenShift ImageStream, in the same namespace.", min_length=1)] = UNSET
    pull_method: Annotated[
        Opt[Literal["pod", "node"]],
        Field("pod fetches from the registry; node lets the node's container runtime fetch the image."),
    ] = UNSET
    secret_ref: Opt[SecretRef] = UNSET
    cert_config_map: Opt[CertConfigMap] = UNSET
    platform: Opt[Platform] = UNSET


class ClaimSource(Shape):
    """A PersistentVolumeClaim that is cloned."""

    namespace: Annotated[str, Field("The claim's namespace.", min_length=1)]
    name: Annotated[str, Field("The claim's name.", min_length=1)]


class SnapshotSource(Shape):
    """A VolumeSnapshot that is cloned."""

    namespace: Annotated[str, Field("The snapshot's namespace.", min_length=1)]
    name: Annotated[str, Field("The snapshot's name.", min_length=1)]


class UploadSource(Shape):
    """A person or program sends the content."""


class BlankSource(Shape):
    """An empty disk of the size requested."""


class ImageIoSource(Shape, kw_only=True):
    """A disk of an oVirt engine."""

    RULES = (
        Rule(
            "(has(self.certConfigMap) && size(self.certConfigMap) > 0) || "
            "(has(self.insecureSkipVerify) && self.insecureSkipVerify)",
            "certConfigMap is expected, or insecureSkipVerify: true",
        ),
    )

    url: Annotated[str, Field("The address of the engine's API, http:// or https://.", max_length=_LONGEST)]
    disk_id: Annotated[str, Field("The disk's id in the engine.", min_length=1)]
    secret_ref: Annotated[SecretRef, Field(min_length=1)]
    cert_config_map: Opt[CertConfigMap] = UNSET
    insecure_skip_verify: Opt[Insecure] = UNSET


class VddkSource(Shape, kw_only=True):
    """A disk of a virtual machine in VMware vCenter or ESXi."""

    url: Annotated[str, Field("The address of the vCenter or ESXi host, http:// or https://.", max_length=_LONGEST)]
    uuid: Annotated[str, Field("The UUID of the virtual machine that has the disk.", min_length=1)]
    backing_file: Annotated[str, Field("The path of the disk in the datastore.", min_length=1)]
    thumbprint: Annotated[str, Field("The fingerprint of the host's certificate.", min_length=1)]
    secret_ref: Annotated[SecretRef, Field(min_length=1)]
    init_image_url: Annotated[Opt[str], Field("A container image with the VDDK library.")] = msgspec.field(
        default=UNSET, name="initImageURL"
    )
    extra_args: Annotated[Opt[str], Field("A ConfigMap with further arguments to the library.")] = UNSET


def _one_of(kinds: tuple[str, ...]) -> Rule:
    return Rule(
        f"[{', '.join(f'has(self.{name})' for name in kinds)}].exists_one(said, said)",
        f"exactly one source is expected: one of {', '.join(kinds)}",
    )


IMPORTED = ("http", "registry", "blank", "nbd", "s3", "gcs", "imageio", "vddk")
KINDS_OF_SOURCE = (*IMPORTED, "upload", "pvc", "snapshot")


class ImportSource(Shape):
    """Where content is fetched from; blank is the source of nothing."""

    RULES = (_one_of(IMPORTED),)

    http: Opt[HttpSource] = UNSET
    registry: Opt[RegistrySource] = UNSET
    blank: Opt[BlankSource] = UNSET
    nbd: Opt[NbdSource] = UNSET
    s3: Opt[S3Source] = UNSET
    gcs: Opt[GcsSource] = UNSET
    imageio: Opt[ImageIoSource] = UNSET
    vddk: Opt[VddkSource] = UNSET


class DataVolumeSource(ImportSource):
    """Where a volume's content comes from."""

    RULES = (_one_of(KINDS_OF_SOURCE),)

    upload: Opt[UploadSource] = UNSET
    pvc: Opt[ClaimSource] = UNSET
    snapshot: Opt[SnapshotSource] = UNSET
