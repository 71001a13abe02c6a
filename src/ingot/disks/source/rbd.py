"""RBD: an image in a Ceph cluster, with cephx."""

import base64
import binascii
import configparser
from dataclasses import replace
from pathlib import Path

from ingot.api.kubevirt import uri
from ingot.api.object import Object, name_of
from ingot.disks import identity
from ingot.disks.endpoint import Credentials, Network
from ingot.disks.place import Place
from ingot.disks.source import vault
from ingot.disks.source.reference import Reference, host, told
from ingot.disks.source.refusal import patiently, refusal
from ingot.kube.client import Client

DEFAULT_POOL = "rbd"
DEFAULT_USER = "admin"
# A keyring is a few lines; what is larger is something else.
_MOST_KEYRING = 1 << 20


def reference(volume: Object) -> Reference:
    """The reference in an `rbd` source."""
    spec = volume["rbd"]
    monitors = tuple(host(volume["name"], "rbd.monitors", text, "rbd") for text in spec["monitors"])
    return told(volume, "rbd", uri.Endpoint("rbd", monitors, f"{spec.get('pool') or DEFAULT_POOL}/{spec['image']}"))


def volume_reference(volume: str, pv: Object) -> Reference:
    """The reference in a PersistentVolume (B2)."""
    spec = pv["spec"]["rbd"]
    field = f"PersistentVolume {name_of(pv)!r}, rbd"
    monitors = tuple(host(volume, f"{field}.monitors", text, "rbd") for text in spec["monitors"])
    secret = spec.get("secretRef") or {}
    return Reference(
        volume=volume,
        field=field,
        at=uri.Endpoint("rbd", monitors, f"{spec.get('pool') or DEFAULT_POOL}/{spec['image']}"),
        secret=str(secret.get("name", "")),
        secret_namespace=str(secret.get("namespace", "")),
        user=str(spec.get("user", "")),
    )


async def endpoint(reference: Reference, place: Place, client: Client) -> Network:
    """The image. Raises DiskFault. The credentials' secret is the key's bytes, not the base64 that people see."""
    reference.refuse("certConfigMap", "Ceph's protocol has no certificates")
    return Network(
        "rbd",
        reference.at.name,
        reference.at.hosts,
        format=reference.format,
        credentials=await _credentials(reference, place, client) if reference.secret else None,
        identities=await identity.served(reference.volume, "rbd", reference.at.hosts, reference.at.name, place.node),
    )


async def volume_endpoint(reference: Reference, keyring: str, place: Place, client: Client) -> Network:
    """The image of a PersistentVolume: without a Secret the key comes from a keyring on the node. Raises DiskFault."""
    found = await endpoint(reference, place, client)
    if reference.secret or not keyring:
        return found
    credentials = await patiently(reference.volume, keyring, lambda: _from_keyring(reference, Path(keyring)))
    return replace(found, credentials=credentials)


async def _credentials(reference: Reference, place: Place, client: Client) -> Credentials:
    keys = await vault.secret(reference, place, client)
    found = vault.pair(keys, [("userID", "userKey")])
    if found is None and "key" in keys:
        found = Credentials(reference.user or DEFAULT_USER, keys["key"].strip())
    if found is None:
        raise vault.invalid_secret(reference, "must have the key `key`, or userID and userKey, for cephx")
    try:
        return Credentials(found.user, base64.b64decode(found.secret, validate=True))
    except binascii.Error:
        raise vault.invalid_secret(reference, "holds a key that is not Ceph's: `ceph auth get-key` prints it") from None


def _from_keyring(reference: Reference, path: Path) -> Credentials | None:
    """The user's key; None without a file: Kubernetes names one in every such volume, also where cephx is off."""
    user = reference.user or DEFAULT_USER
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        with path.open() as file:
            parser.read_string("\n".join(line.strip() for line in file.read(_MOST_KEYRING).splitlines()))
        return Credentials(user, base64.b64decode(parser[f"client.{user}"]["key"], validate=True))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError, configparser.Error, KeyError, binascii.Error):
        message = (
            f"{reference.field}: keyring {path} on this node has no key of client.{user}: name a Secret in secretRef"
        )
        raise refusal(reference.volume, "KeyringInvalid", message) from None
