"""Identities: what a piece of storage is called, whichever way it was reached (B4).

Any two endpoints that share one identity are the same bytes. A name that is good on one node only holds the node's.
What cannot be seen from here to be one: an NBD or web server behind several addresses, a GlusterFS volume through
several of its servers, a Ceph cluster through monitors that have none in common, and an iSCSI target through portals
that have none in common. That a server calls its target as another one does proves nothing: names alone would let
anybody hold storage that is not his.
"""

import asyncio
import hashlib
import ipaddress
import os
import posixpath
import socket
from collections.abc import Iterable
from pathlib import Path

from ingot.api.kubevirt.uri import HostPort, parse_host
from ingot.api.object import Object, name_of
from ingot.disks.source.refusal import refusal
from ingot.host.descriptor import Descriptor

RESOLVE_SECONDS = 5.0
# A Ceph monitor listens on both: the one for the newer protocol, the other for the older.
_CEPH_NEW, _CEPH_OLD = 3300, 6789
_ISCSI = 3260


async def served(volume: str, protocol: str, hosts: Iterable[HostPort], name: str, node: str) -> frozenset[str]:
    """Of an export: one for each address of each host. Raises DiskFault for a host name without an address."""
    found = set()
    if protocol in ("http", "https"):
        name = _without_query(name)
    for host in hosts:
        port = _CEPH_OLD if protocol == "rbd" and host.port == _CEPH_NEW else host.port
        for address in await addresses(volume, host.host):
            found.add(f"{protocol}:{_place(address, node)}:{port}/{name}")
    return frozenset(found)


async def iscsi(volume: str, portals: Iterable[HostPort], iqn: str, lun: int, node: str) -> frozenset[str]:
    """Of a logical unit: one for each address of each portal. Raises DiskFault as `served` does."""
    return await served(volume, "iscsi", portals, f"{iqn.lower()}/{lun}", node)


def _without_query(name: str) -> str:
    """A URL's path, and a digest of its query, which tells files apart and may be a token."""
    path, mark, query = name.partition("?")
    return f"{path}?{hashlib.sha256(query.encode()).hexdigest()[:16]}" if mark else path


async def addresses(volume: str, host: str) -> list[str]:
    """All addresses of a host. Raises DiskFault."""
    try:
        found = await asyncio.wait_for(
            asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM), RESOLVE_SECONDS
        )
    except TimeoutError:
        message = f"no name server told the address of host {host!r} in {RESOLVE_SECONDS:g} s"
        raise refusal(volume, "Unreachable", message) from None
    except (OSError, UnicodeError) as error:
        message = f"host {host!r} has no address ({getattr(error, 'strerror', None) or error}): correct its name"
        raise refusal(volume, "Unreachable", message) from None
    return sorted({str(entry[4][0]).partition("%")[0] for entry in found})


def _place(address: str, node: str) -> str:
    """An address as it is told apart: a loopback one is another on each node."""
    parsed = ipaddress.ip_address(address)
    text = f"[{parsed}]" if parsed.version == 6 else str(parsed)
    return f"{node}@{text}" if parsed.is_loopback else text


def file(node: str, opened: Descriptor) -> frozenset[str]:
    """Of a file: its path, and its inode, which is the same through every mount and link."""
    return _file(node, opened.path.readlink(), os.fstat(opened.fileno()))


def _file(node: str, path: Path, found: os.stat_result) -> frozenset[str]:
    device = f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}"
    return frozenset({f"file:{node}:{path}", f"inode:{node}:{device}:{found.st_ino}"})


def block(node: str, path: Path) -> frozenset[str]:
    """Of a device: its kernel's name, those of all that lies on it, and the file behind a loop. Raises OSError."""
    number = path.stat().st_rdev
    return _device(node, Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve())


def _device(node: str, entry: Path) -> frozenset[str]:
    found = {f"block:{node}:{entry.name}"}
    try:
        backing = Path((entry / "loop" / "backing_file").read_text().rstrip("\n"))
    except FileNotFoundError:
        pass
    else:
        # A path that is gone, or not ours to see, still names the file.
        found |= _file(node, backing.resolve(), backing.stat()) if backing.exists() else {f"file:{node}:{backing}"}
    partitions = [below.parent for below in entry.glob("*/partition")]
    for above in (*partitions, *(entry / "holders").glob("*")):
        found |= _device(node, above.resolve())
    return frozenset(found)


async def volume(name: str, pv: Object, node: str) -> frozenset[str]:
    """What the details of a PersistentVolume tell of it, beyond the path at which the kubelet has it.

    Raises DiskFault, and UriError for a monitor or portal that is no address.
    """
    spec = pv["spec"]
    if "csi" in spec:
        return frozenset({f"csi:{spec['csi']['driver']}/{spec['csi']['volumeHandle']}"})
    if "iscsi" in spec:
        target = spec["iscsi"]
        portals = [parse_host(portal, _ISCSI) for portal in (target["targetPortal"], *(target.get("portals") or ()))]
        return await iscsi(name, portals, target["iqn"], int(target.get("lun", 0)), node)
    if "rbd" in spec:
        monitors = [parse_host(monitor, _CEPH_OLD) for monitor in spec["rbd"]["monitors"]]
        return await served(name, "rbd", monitors, f"{spec['rbd'].get('pool', 'rbd')}/{spec['rbd']['image']}", node)
    if "nfs" in spec:
        path = posixpath.normpath(f"{spec['nfs']['path']}/disk.img").lstrip("/")
        return await served(name, "nfs", [HostPort(spec["nfs"]["server"], 2049)], path, node)
    if "fc" in spec:
        lun = spec["fc"].get("lun", 0)
        ports = [f"fc:{port.lower()}/{lun}" for port in spec["fc"].get("targetWWNs") or ()]
        return frozenset([*ports, *(f"fc:{wwid.lower()}" for wwid in spec["fc"].get("wwids") or ())])
    if "local" in spec or "hostPath" in spec:
        return frozenset()
    return frozenset({f"pv:{name_of(pv)}"})
