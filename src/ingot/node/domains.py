"""What is done to domains in one thread's turn at a connection to libvirt. Everything here blocks, and raises
libvirt.libvirtError."""

import contextlib
from collections.abc import Collection, Mapping

from ingot.host.descriptor import Descriptor
from ingot.node import binding, events
from ingot.node.binding import Connection, Domain, constant
from ingot.node.domain.document import instance_uid
from ingot.node.events import DomainState


def start(connection: Connection, xml: str, flags: int, files: Mapping[str, Descriptor]) -> None:
    """Starts a transient domain that uses these open files.

    When this process is killed meanwhile, libvirt goes on: the domain may run and stay defined. See `forget`.
    """
    if not files:
        connection.createXML(xml, flags)
        return
    # libvirt takes open files only for a domain that it knows, so it is defined for that moment.
    domain = connection.defineXML(xml)
    try:
        for name, file in files.items():
            domain.FDAssociate(name, [file.fileno()])
        domain.createWithFlags(flags)
    finally:
        _undefine(domain)


def destroy(domain: Domain, uid: str) -> None:
    """Ends its QEMU and takes its definition away; not when a `uid` is given and it is not that instance's."""
    if uid and instance_uid(domain.XMLDesc(0)) != uid:
        return
    try:
        domain.destroyFlags(0)
    except Exception:
        # It may have ended in between, or be no more than a definition.
        if domain.isActive():
            raise
    forget(domain)


def forget(domain: Domain) -> bool:
    """Takes away the definition that a killed start has left, if there is one and it is ours; whether there was.

    Of a domain that runs, this waits for all that libvirt does with it.
    """
    if not domain.isPersistent() or not instance_uid(domain.XMLDesc(0)):
        return False
    _undefine(domain)
    return True


def is_gone(domain: Domain, uid: str) -> bool:
    """Whether it is not that instance's, or was no more than a definition, which is taken away."""
    return instance_uid(domain.XMLDesc(0)) != uid or (not domain.isActive() and forget(domain))


def running(connection: Connection) -> list[DomainState]:
    """All domains that run in one call to libvirt, without waiting for those that are busy."""
    names = ("NOWAIT", "ACTIVE")
    flags = sum(constant(f"VIR_CONNECT_GET_ALL_DOMAINS_STATS_{name}") for name in names)
    found = connection.getAllDomainStats(constant("VIR_DOMAIN_STATS_STATE"), flags)
    return [
        events.state(domain.name(), domain.UUIDString(), stats["state.state"], stats["state.reason"])
        for domain, stats in found
    ]


def unlike(connection: Connection, names: Collection[str]) -> dict[str, str]:
    """The XML of all domains, running or not, that have none of these names."""
    found = {}
    for domain in connection.listAllDomains():
        # One that ends meanwhile is none.
        with contextlib.suppress(binding.library().libvirtError):
            if domain.name() not in names:
                found[domain.name()] = domain.XMLDesc(0)
    return found


def _undefine(domain: Domain) -> None:
    kept = constant("VIR_DOMAIN_UNDEFINE_KEEP_NVRAM") | constant("VIR_DOMAIN_UNDEFINE_KEEP_TPM")
    domain.undefineFlags(kept)
