"""What libvirt tells about domains, in words: the events of a connection and the states of a domain."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ingot.node.binding import Connection, Domain, constant


class Kind(StrEnum):
    """What has happened; the detail that comes with each is named beside it."""

    STARTED = "started"  # booted, migrated, restored, …
    SUSPENDED = "suspended"  # paused, ioerror, watchdog, …
    RESUMED = "resumed"  # unpaused, migrated, …
    SHUTDOWN = "shutdown"  # the guest has ended, QEMU has not yet: guest, host, finished
    STOPPED = "stopped"  # QEMU has ended: shutdown, destroyed, crashed, migrated, saved
    CRASHED = "crashed"  # the guest's own report: panicked, crashloaded
    REBOOTED = "rebooted"  # no detail
    IO_ERROR = "io-error"  # "<device alias> <action> <reason>", such as "virtio-disk0 pause enospc"
    TRAY = "tray"  # "<device alias> open|close"
    AGENT = "agent"  # connected, disconnected
    # Of the connection and not of a domain (the name is empty): lost, restored. What happened between the two
    # was not told: look at every domain again.
    CONNECTION = "connection"


class Phase(StrEnum):
    """Where a domain is in its life."""

    RUNNING = "running"
    PAUSED = "paused"
    SHUTTING_DOWN = "shutting-down"
    SHUTOFF = "shutoff"
    CRASHED = "crashed"
    SLEEPING = "sleeping"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DomainState:
    """A domain that libvirt knows: `reason` says why it is in its phase, such as "ioerror" of a paused one."""

    name: str
    uuid: str
    phase: Phase
    reason: str


# A domain event: the domain's name, what happened, and a detail as described at `Kind`.
Told = Callable[[str, Kind, str], None]

# libvirt's numbers, which are part of its stable interface: the words are in their order.
_LIFECYCLE = {
    2: (Kind.STARTED, "booted migrated restored snapshot wakeup"),
    3: (Kind.SUSPENDED, "paused migrated ioerror watchdog restored snapshot error postcopy postcopy-failed"),
    4: (Kind.RESUMED, "unpaused migrated snapshot postcopy postcopy-failed"),
    # A QEMU that ended without a word is told as "failed" (the 6th) here, and as "crashed" in its log and state.
    5: (Kind.STOPPED, "shutdown destroyed crashed migrated saved crashed snapshot"),
    6: (Kind.SHUTDOWN, "finished guest host"),
    8: (Kind.CRASHED, "panicked crashloaded"),
}
_PHASES = (
    (Phase.UNKNOWN, "unknown"),
    (Phase.RUNNING, "unknown booted migrated restored snapshot unpaused unpaused unpaused wakeup crashed postcopy"),
    (Phase.RUNNING, "unknown"),
    (
        Phase.PAUSED,
        "unknown user migration save dump ioerror watchdog snapshot shutting-down snapshot crashed starting "
        "postcopy postcopy-failed error",
    ),
    (Phase.SHUTTING_DOWN, "unknown user"),
    (Phase.SHUTOFF, "unknown shutdown destroyed crashed migrated saved failed snapshot daemon"),
    (Phase.CRASHED, "unknown panicked"),
    (Phase.SLEEPING, "unknown"),
)


def state(name: str, uuid: str, number: int, reason: int) -> DomainState:
    """A domain's state from libvirt's two numbers."""
    phase, reasons = _PHASES[number] if number < len(_PHASES) else (Phase.UNKNOWN, "")
    return DomainState(name, uuid, phase, _word(reasons, reason))


def register(connection: Connection, told: Told) -> list[int]:
    """Asks for the events of all domains; by these numbers it can be ended. `told` is called in libvirt's thread."""

    def lifecycle(_connection: Any, domain: Domain, event: int, detail: int, _opaque: Any) -> None:
        if event in _LIFECYCLE:
            kind, details = _LIFECYCLE[event]
            told(domain.name(), kind, _word(details, detail))

    def rebooted(_connection: Any, domain: Domain, _opaque: Any) -> None:
        told(domain.name(), Kind.REBOOTED, "")

    def failed(_c: Any, domain: Domain, _path: str, alias: str, action: int, reason: str, _opaque: Any) -> None:
        told(domain.name(), Kind.IO_ERROR, f"{alias} {_word('none pause report', action)} {reason}".strip())

    def tray(_connection: Any, domain: Domain, alias: str, reason: int, _opaque: Any) -> None:
        told(domain.name(), Kind.TRAY, f"{alias} {_word('open close', reason)}")

    def agent(_connection: Any, domain: Domain, agent_state: int, _reason: int, _opaque: Any) -> None:
        told(domain.name(), Kind.AGENT, _word("unknown connected disconnected", agent_state))

    callbacks: dict[str, Callable[..., None]] = {
        "LIFECYCLE": lifecycle,
        "REBOOT": rebooted,
        "IO_ERROR_REASON": failed,
        "TRAY_CHANGE": tray,
        "AGENT_LIFECYCLE": agent,
    }
    return [
        connection.domainEventRegisterAny(None, constant(f"VIR_DOMAIN_EVENT_ID_{kind}"), callback, None)
        for kind, callback in callbacks.items()
    ]


def _word(words: str, number: int) -> str:
    """The word of a number; a number that a newer libvirt has added is told as it is."""
    known = words.split()
    return known[number] if 0 <= number < len(known) else f"unknown-{number}"
