"""References: a network source, told the same whether by its own form, by an address or by a PersistentVolume."""

from dataclasses import dataclass

from ingot.api.kubevirt import uri
from ingot.api.kubevirt.uri import DEFAULT_PORTS, HostPort, UriError
from ingot.api.object import Object
from ingot.disks.endpoint import Format
from ingot.disks.source.refusal import final


@dataclass(frozen=True, slots=True)
class Reference:
    """`field` is where it was told, for messages. Names of objects are "" for none.

    `secret_namespace` is "" for the machine's own: only a PersistentVolume, which its administrator makes, may name
    another. `user` is Ceph's, `initiator` iSCSI's.
    """

    volume: str
    field: str
    at: uri.Endpoint
    format: Format = Format.RAW
    secret: str = ""
    secret_namespace: str = ""
    certificates: str = ""
    user: str = ""
    initiator: str = ""

    def refuse(self, attribute: str, why: str) -> None:
        """Raises DiskFault for `secretRef` or `certConfigMap` where it is given and means nothing."""
        given = {"secretRef": self.secret, "certConfigMap": self.certificates}[attribute]
        if given:
            raise final(self.volume, "InvalidVolume", f"{self.field}.{attribute} cannot be used: {why}; remove it")


def told(volume: Object, source: str, at: uri.Endpoint) -> Reference:
    """The reference in a volume's `source`, whose place is `at`."""
    spec = volume[source]
    return Reference(
        volume=str(volume["name"]),
        field=f"volume {volume['name']!r}, {source}",
        at=at,
        format=Format(spec.get("format", "raw")),
        secret=str((spec.get("secretRef") or {}).get("name", "")),
        certificates=str((spec.get("certConfigMap") or {}).get("name", "")),
        user=str(spec.get("user", "")),
        initiator=str(spec.get("initiatorName", "")),
    )


def host(volume: str, field: str, text: str, scheme: str) -> HostPort:
    """`host` or `host:port`, with the scheme's own port. Raises DiskFault."""
    try:
        return uri.parse_host(text, DEFAULT_PORTS[scheme])
    except UriError as fault:
        raise final(volume, "InvalidVolume", f"{field}: {fault.why}") from None


def parsed(volume: str, field: str, text: str) -> uri.Endpoint:
    """An address. Raises DiskFault."""
    try:
        return uri.parse(text)
    except UriError as fault:
        raise final(volume, "InvalidVolume", f"{field}: {fault.why}") from None
