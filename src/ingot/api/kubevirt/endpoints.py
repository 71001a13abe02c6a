"""Volume sources that are endpoints of a network, or that a container makes when asked."""

from typing import Annotated, Literal

from ingot.api.machinery import UNSET, Field, Int32, Opt, Rule, Shape
from ingot.api.machinery.meta import LocalObjectReference

SCHEMES = ("nbd", "nbds", "iscsi", "rbd", "gluster", "http", "https")

Format = Annotated[Literal["raw", "qcow2"], Field("What the endpoint's bytes are.")]
Host = Annotated[str, Field("A name or an address.", min_length=1, max_length=253)]
Port = Annotated[Int32, Field("The TCP port.", minimum=1, maximum=65535)]
Secret = Annotated[Opt[LocalObjectReference], Field("The Secret with the endpoint's credentials.")]
Certificates = Annotated[
    Opt[LocalObjectReference], Field("The ConfigMap with the certificates that the endpoint is checked against.")
]


class NetworkVolume(Shape):
    """An endpoint by its address, of any protocol that is known. Many machines may read from one."""

    uri: Annotated[
        str,
        Field(
            "The endpoint: nbd://host[:port]/export, nbds://…, iscsi://host[:port]/iqn[/lun], "
            "rbd://monitor[:port][,…]/pool/image, gluster://host[:port]/volume/path, http://… or https://….",
            max_length=2048,
            rules=(
                Rule(
                    f"self.matches('(?i)^({'|'.join(SCHEMES)})://.')",
                    f"a network volume's scheme is one of {', '.join(SCHEMES)}, such as nbd://host/export",
                ),
            ),
        ),
    ]
    format: Format
    read_only: Annotated[bool, Field("Whether the guest only reads from it.")] = True
    secret_ref: Secret = UNSET
    cert_config_map: Certificates = UNSET


class IscsiSource(Shape):
    """A logical unit of an iSCSI target."""

    target_portal: Annotated[str, Field("The target's host, or host:port when that is not 3260.", min_length=1)]
    iqn: Annotated[str, Field("The target's name.", pattern=r"^(iqn\.\d{4}-\d{2}\.|eui\.|naa\.).+$")]
    lun: Annotated[Int32, Field("The logical unit.", minimum=0, maximum=16383)] = 0
    initiator_name: Annotated[Opt[str], Field("The name that the initiator gives itself.")] = UNSET
    format: Format = "raw"
    secret_ref: Secret = UNSET


class RbdSource(Shape):
    """An image in a Ceph cluster."""

    monitors: Annotated[list[Host], Field("Monitors, host or host:port.", min_items=1, max_items=32)]
    image: Annotated[str, Field("The image's name.", min_length=1)]
    pool: Annotated[str, Field("The pool that holds it.")] = "rbd"
    user: Annotated[str, Field("The user of Ceph.")] = "admin"
    format: Format = "raw"
    secret_ref: Secret = UNSET


class NbdSource(Shape):
    """An export of an NBD server."""

    host: Host
    port: Port = 10809
    export: Annotated[str, Field("The export's name; empty for the server's default one.")] = ""
    tls: Annotated[bool, Field("Whether the connection is encrypted and the server checked.")] = False
    format: Format = "raw"
    secret_ref: Secret = UNSET
    cert_config_map: Certificates = UNSET


class GlusterSource(Shape):
    """A file on a GlusterFS volume."""

    host: Host
    volume: Annotated[str, Field("The volume's name.", min_length=1)]
    path: Annotated[str, Field("The file's path on the volume.", min_length=1)]
    port: Port = 24007
    format: Format = "raw"


class HttpSource(Shape):
    """A file on a web server that answers to range requests. It is never written to."""

    url: Annotated[str, Field("The file's address, http or https.", max_length=2048, pattern="^https?://.+")]
    format: Format = "raw"
    secret_ref: Secret = UNSET
    cert_config_map: Certificates = UNSET


class ContainerSource(Shape):
    """A container that makes the volume: PUT on its /volume answers with the source, DELETE removes it.

    Every other field of a Kubernetes container may be given and is used for it.
    """

    PRESERVE = True

    image: Annotated[str, Field("The container's image.", min_length=1)]
    command: Annotated[Opt[list[str]], Field("Its entry point.")] = UNSET
    args: Annotated[Opt[list[str]], Field("The arguments of the entry point.")] = UNSET
