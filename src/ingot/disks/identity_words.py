"""Identities of storage, for people."""

import re

# protocol:address:port/name, where a loopback address is told with its node.
_SERVED = re.compile(r"(?P<protocol>[a-z]+):(?P<place>.+?:\d+)/(?P<name>.*)")
_THINGS = {"nbd": "NBD export", "rbd": "RBD image", "gluster": "GlusterFS file", "nfs": "NFS file"}


def words(identity: str) -> str:
    """What an identity names: `LUN 2 of iqn.2020-01.org:disks at 192.0.2.1:3260`."""
    kind, _, rest = identity.partition(":")
    if kind in ("file", "inode", "block"):
        node, _, name = rest.partition(":")
        thing = {"file": "the file", "inode": "the file of inode", "block": "the device"}[kind]
        return f"{thing} {name} of node {node!r}" if node != "shared" else f"the shared file {name}"
    if kind == "csi":
        driver, _, handle = rest.partition("/")
        return f"volume {handle!r} of CSI driver {driver}"
    if kind == "pv":
        return f"PersistentVolume {rest!r}"
    matched = _SERVED.fullmatch(identity)
    if matched is None:
        return identity
    # The node before a loopback address is the one on which this is told.
    place, name = matched["place"].rpartition("@")[2], matched["name"]
    if kind == "iscsi":
        target, _, lun = name.rpartition("/")
        return f"LUN {lun} of {target} at {place}"
    if kind in ("http", "https"):
        return f"{kind}://{place}/{name.partition('?')[0]}"
    return f"{_THINGS[kind]} {name!r} at {place}" if kind in _THINGS else identity
