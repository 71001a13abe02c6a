"""Passwords and keys of network disks: in libvirtd's memory, under a name, and nowhere else."""

import uuid
from functools import partial
from typing import Literal
from xml.etree import ElementTree

from ingot.node.binding import Connection, constant
from ingot.node.hypervisor import Hypervisor
from ingot.node.link import absent

Kind = Literal["iscsi", "ceph"]
KINDS: tuple[Kind, ...] = ("iscsi", "ceph")
# The element of libvirt's XML that holds the name, for each kind.
_NAMED_BY = {"iscsi": "target", "ceph": "name"}
_NAMESPACE = uuid.UUID("7e7f2a60-3c0b-4c53-9d3b-2d1d0a6f5c11")


class Secrets:
    """The secrets of a hypervisor. They are ephemeral (never on disk) and private (never handed out again).

    A libvirtd that is started again has forgotten them: define them before each start of a domain. Running domains
    do not need them any more. Every method raises HypervisorError, which never holds a value.
    """

    def __init__(self, hypervisor: Hypervisor) -> None:
        self._hypervisor = hypervisor

    async def define(self, kind: Kind, usage: str, value: bytes) -> None:
        """Keeps a value for `<secret type=kind usage=usage/>` of a disk, in place of one that was there."""

        def work(connection: Connection) -> None:
            connection.secretDefineXML(_xml(kind, usage)).setValue(value)

        await self._hypervisor.repeat("", work)

    async def remove(self, usage: str) -> None:
        """Forgets what is kept under a name. Nothing there is no error."""
        for kind in KINDS:
            with absent():
                await self._hypervisor.repeat("", partial(_undefine, kind, usage))

    async def remove_prefix(self, prefix: str) -> None:
        """Forgets everything whose name begins so."""

        def named(connection: Connection) -> list[str]:
            return [secret.usageID() for secret in connection.listAllSecrets()]

        for usage in await self._hypervisor.repeat("", named):
            if usage.startswith(prefix):
                await self.remove(usage)


def _undefine(kind: Kind, usage: str, connection: Connection) -> None:
    number = constant(f"VIR_SECRET_USAGE_TYPE_{kind.upper()}")
    connection.secretLookupByUsage(number, usage).undefine()


def _xml(kind: Kind, usage: str) -> str:
    root = ElementTree.Element("secret", ephemeral="yes", private="yes")
    # The same name has the same UUID: libvirt refuses a second secret of a name and replaces one of a UUID.
    ElementTree.SubElement(root, "uuid").text = str(uuid.uuid5(_NAMESPACE, f"{kind} {usage}"))
    element = ElementTree.SubElement(root, "usage", type=kind)
    ElementTree.SubElement(element, _NAMED_BY[kind]).text = usage
    return ElementTree.tostring(root, "unicode")
