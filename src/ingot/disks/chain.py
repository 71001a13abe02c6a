"""An endpoint and what is below it, as libvirt writes them: <source> and <backingStore>.

A chain is written out in full, with the format of every level, and it is closed: libvirt looks into no image to
find another one, which the guest could have made it name.
"""

from xml.etree.ElementTree import Element, SubElement

from ingot.api.kubevirt.uri import HostPort
from ingot.disks.endpoint import Block, Endpoint, File, Format, Network

# The kinds of libvirt's secrets, by protocol; no other protocol has credentials that libvirt itself handles.
SECRET_TYPES = {"iscsi": "iscsi", "rbd": "ceph"}


def type_of(endpoint: Endpoint) -> str:
    """libvirt's word for a disk of that kind."""
    match endpoint:
        case File():
            return "file"
        case Block():
            return "block"
        case Network():
            return "network"


def add_chain(parent: Element, endpoint: Endpoint, group: str, secret_usage: str) -> None:
    """Puts the endpoint and all below it into a <disk> or a <backingStore>.

    libvirt gets a file that was opened as the descriptor `group`, of which there is at most one in a chain.
    """
    add_source(parent, endpoint, group, secret_usage)
    below = endpoint.backing if isinstance(endpoint, File) else None
    if below is not None:
        store = SubElement(parent, "backingStore", type=type_of(below))
        SubElement(store, "format", type=below.format)
        add_chain(store, below, group, secret_usage)
    elif endpoint.format is not Format.RAW or parent.tag == "backingStore":
        SubElement(parent, "backingStore")


def add_source(parent: Element, endpoint: Endpoint, group: str, secret_usage: str) -> None:
    """Puts one endpoint's <source> into a <disk> or a <backingStore>."""
    match endpoint:
        case File():
            source = SubElement(parent, "source", file=str(endpoint.path))
            if endpoint.opened is not None:
                source.set("fdgroup", group)
        case Block():
            SubElement(parent, "source", dev=str(endpoint.path))
        case Network():
            _add_network(parent, endpoint, secret_usage)


def _add_network(parent: Element, endpoint: Network, secret_usage: str) -> None:
    if endpoint.protocol in ("http", "https") or endpoint.tls is not None:
        raise ValueError(f"{endpoint.protocol} to {endpoint.hosts} is reached through a bridge, not by QEMU itself")
    source = SubElement(parent, "source", protocol=endpoint.protocol)
    name = f"{endpoint.name}/{endpoint.lun}" if endpoint.protocol == "iscsi" else endpoint.name
    # An NBD server's default export has no name, which libvirt writes as none at all.
    if name:
        source.set("name", name)
    if endpoint.protocol == "nbd":
        source.set("tls", "no")
    if endpoint.socket is not None:
        SubElement(source, "host", transport="unix", socket=str(endpoint.socket))
    for host in endpoint.hosts if endpoint.socket is None else ():
        _add_host(source, host, endpoint.protocol)
    if endpoint.protocol == "iscsi" and endpoint.initiator:
        SubElement(SubElement(source, "initiator"), "iqn", name=endpoint.initiator)
    if endpoint.credentials is not None and endpoint.protocol in SECRET_TYPES:
        auth = SubElement(source, "auth", username=endpoint.credentials.user)
        SubElement(auth, "secret", type=SECRET_TYPES[endpoint.protocol], usage=secret_usage)


def _add_host(source: Element, host: HostPort, protocol: str) -> None:
    written = SubElement(source, "host", name=host.host, port=str(host.port))
    if protocol == "gluster":
        written.set("transport", "tcp")
