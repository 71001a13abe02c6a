"""Storage pools: a directory pool of libvirt's for each usage type that the node offers."""

from collections.abc import Collection
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from ingot.node.binding import Connection, Pool
from ingot.node.hypervisor import Hypervisor
from ingot.node.link import HypervisorError, absent

# How our pools are told from those that somebody else keeps in the same libvirt.
PREFIX = "ingot-"


class Pools:
    """The pools of a hypervisor, by usage type. They are transient: the node makes them when it begins."""

    def __init__(self, hypervisor: Hypervisor) -> None:
        self._hypervisor = hypervisor

    async def ensure(self, usage: str, path: Path) -> None:
        """Lets a pool serve a usage type from a directory, which is made if it is missing.

        The directory can be passed through by QEMU's user, and listed by its owner only. Raises HypervisorError.
        """
        await self._hypervisor.repeat("", lambda connection: _ensure(connection, usage, path))

    async def refresh(self, usage: str) -> None:
        """Lets libvirt look at what is in the pool now. Raises HypervisorError, `missing` when it is not offered."""
        await self._hypervisor.repeat("", lambda connection: _pool(connection, usage).refresh(0))

    async def offered(self) -> dict[str, Path]:
        """The directories of all pools of ours, by usage type."""
        return await self._hypervisor.repeat("", _offered)

    async def keep(self, usages: Collection[str]) -> None:
        """Removes our pools of all other usage types. Their directories and what is in them stay."""
        for usage in set(await self.offered()) - set(usages):
            with absent():
                await self._hypervisor.repeat("", partial(_destroy, usage))


def _ensure(connection: Connection, usage: str, path: Path) -> None:
    try:
        path.mkdir(mode=0o711, parents=True, exist_ok=True)
    except OSError as error:
        raise HypervisorError(0, f"usage type {usage}: {path}: {error.strerror}") from error
    name = PREFIX + usage
    found = {pool.name(): pool for pool in connection.listAllStoragePools()}.get(name)
    if found is not None and _path(found) == path:
        return
    if found is not None:
        found.destroy()
    root = ElementTree.Element("pool", type="dir")
    ElementTree.SubElement(root, "name").text = name
    ElementTree.SubElement(ElementTree.SubElement(root, "target"), "path").text = str(path)
    connection.storagePoolCreateXML(ElementTree.tostring(root, "unicode"))


def _offered(connection: Connection) -> dict[str, Path]:
    pools = [pool for pool in connection.listAllStoragePools() if pool.name().startswith(PREFIX)]
    return {pool.name().removeprefix(PREFIX): _path(pool) for pool in pools}


def _destroy(usage: str, connection: Connection) -> None:
    _pool(connection, usage).destroy()


def _pool(connection: Connection, usage: str) -> Pool:
    return connection.storagePoolLookupByName(PREFIX + usage)


def _path(pool: Pool) -> Path:
    return Path(ElementTree.fromstring(pool.XMLDesc(0)).findtext("target/path", ""))  # noqa: S314 - libvirt's own text
