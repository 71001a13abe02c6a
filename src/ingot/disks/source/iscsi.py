"""iSCSI: a logical unit of a target, with CHAP."""

import asyncio
import contextlib

from ingot.api.kubevirt import uri
from ingot.api.kubevirt.uri import HostPort
from ingot.api.object import Object, name_of
from ingot.disks import identity
from ingot.disks.endpoint import Credentials, Network
from ingot.disks.place import Place
from ingot.disks.source import vault
from ingot.disks.source.reference import Reference, host, told
from ingot.kube.client import Client

# As open-iscsi and so the kubelet names them, and as people do.
_PAIRS = (("node.session.auth.username", "node.session.auth.password"), ("username", "password"))
_MUTUAL = "node.session.auth.username_in"
_CONNECT_SECONDS = 2.0


def reference(volume: Object) -> Reference:
    """The reference in an `iscsi` source."""
    spec = volume["iscsi"]
    portal = host(volume["name"], "iscsi.targetPortal", spec["targetPortal"], "iscsi")
    return told(volume, "iscsi", uri.Endpoint("iscsi", (portal,), spec["iqn"], int(spec.get("lun", 0))))


def volume_reference(volume: str, pv: Object) -> Reference:
    """The reference in a PersistentVolume (B2)."""
    spec = pv["spec"]["iscsi"]
    texts = dict.fromkeys((spec["targetPortal"], *(spec.get("portals") or ())))
    portals = tuple(host(volume, f"PersistentVolume {name_of(pv)!r}", text, "iscsi") for text in texts)
    # Without chapAuthSession the kubelet does not log in either; its Secret may be for discovery, which we do not do.
    secret = (spec.get("secretRef") or {}) if spec.get("chapAuthSession") else {}
    return Reference(
        volume=volume,
        field=f"PersistentVolume {name_of(pv)!r}, iscsi",
        at=uri.Endpoint("iscsi", portals, spec["iqn"], int(spec.get("lun", 0))),
        secret=str(secret.get("name", "")),
        secret_namespace=str(secret.get("namespace", "")),
        initiator=str(spec.get("initiatorName", "")),
    )


async def endpoint(reference: Reference, place: Place, client: Client) -> Network:
    """The logical unit. Raises DiskFault."""
    reference.refuse("certConfigMap", "iSCSI has no TLS")
    at = reference.at
    return Network(
        "iscsi",
        at.name,
        (await _portal(at.hosts),),
        lun=at.lun,
        initiator=reference.initiator,
        format=reference.format,
        credentials=await _credentials(reference, place, client) if reference.secret else None,
        identities=await identity.iscsi(reference.volume, at.hosts, at.name, at.lun, place.node),
    )


async def _credentials(reference: Reference, place: Place, client: Client) -> Credentials:
    keys = await vault.secret(reference, place, client)
    if _MUTUAL in keys:
        what = f"asks for mutual CHAP ({_MUTUAL}), which QEMU has not: remove that key, or use driver kubelet"
        raise vault.invalid_secret(reference, what)
    found = vault.pair(keys, _PAIRS)
    if found is None:
        wanted = " or ".join(f"{user} and {password}" for user, password in _PAIRS)
        raise vault.invalid_secret(reference, f"must have the keys {wanted} for CHAP")
    return found


async def _portal(portals: tuple[HostPort, ...]) -> HostPort:
    """The first portal that answers, because QEMU takes but one; the first of all when none does."""
    if len(portals) > 1:
        answers = await asyncio.gather(*(_answers(portal) for portal in portals))
        return next((portal for portal, answered in zip(portals, answers, strict=True) if answered), portals[0])
    return portals[0]


async def _answers(portal: HostPort) -> bool:
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(portal.host, portal.port)
            writer.close()
            return True
    return False
