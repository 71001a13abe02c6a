"""libvirt's numbers in words."""

from typing import Any

import libvirt
import pytest

from ingot.node.events import Kind, Phase, register, state


@pytest.mark.parametrize(
    ("number", "reason", "phase", "word"),
    [
        ("RUNNING", "RUNNING_BOOTED", Phase.RUNNING, "booted"),
        ("RUNNING", "RUNNING_UNPAUSED", Phase.RUNNING, "unpaused"),
        ("PAUSED", "PAUSED_USER", Phase.PAUSED, "user"),
        ("PAUSED", "PAUSED_IOERROR", Phase.PAUSED, "ioerror"),
        ("PAUSED", "PAUSED_STARTING_UP", Phase.PAUSED, "starting"),
        ("PAUSED", "PAUSED_POSTCOPY_FAILED", Phase.PAUSED, "postcopy-failed"),
        ("SHUTDOWN", "SHUTDOWN_USER", Phase.SHUTTING_DOWN, "user"),
        ("SHUTOFF", "SHUTOFF_CRASHED", Phase.SHUTOFF, "crashed"),
        ("SHUTOFF", "SHUTOFF_DAEMON", Phase.SHUTOFF, "daemon"),
        ("CRASHED", "CRASHED_PANICKED", Phase.CRASHED, "panicked"),
        ("PMSUSPENDED", "PMSUSPENDED_UNKNOWN", Phase.SLEEPING, "unknown"),
    ],
)
def test_states(number: str, reason: str, phase: Phase, word: str) -> None:
    numbers = [getattr(libvirt, f"VIR_DOMAIN_{name}") for name in (number, reason)]
    found = state("vm", "uuid", *numbers)
    assert (found.phase, found.reason) == (phase, word)


def test_a_number_of_a_newer_libvirt_is_told_as_it_is() -> None:
    assert state("vm", "uuid", 1, 99).reason == "unknown-99"
    assert state("vm", "uuid", 99, 0).phase is Phase.UNKNOWN


class Domain:
    def name(self) -> str:
        return "vm"


class Connection:
    def __init__(self) -> None:
        self.callbacks: dict[int, Any] = {}

    def domainEventRegisterAny(self, _domain: Any, kind: int, callback: Any, _opaque: Any) -> int:
        self.callbacks[kind] = callback
        return kind

    def happen(self, kind: str, *details: Any) -> None:
        self.callbacks[getattr(libvirt, f"VIR_DOMAIN_EVENT_ID_{kind}")](self, Domain(), *details, None)


@pytest.mark.parametrize(
    ("happening", "told"),
    [
        (("LIFECYCLE", "STARTED", "STARTED_BOOTED"), (Kind.STARTED, "booted")),
        (("LIFECYCLE", "SUSPENDED", "SUSPENDED_IOERROR"), (Kind.SUSPENDED, "ioerror")),
        (("LIFECYCLE", "SHUTDOWN", "SHUTDOWN_GUEST"), (Kind.SHUTDOWN, "guest")),
        (("LIFECYCLE", "STOPPED", "STOPPED_SHUTDOWN"), (Kind.STOPPED, "shutdown")),
        (("LIFECYCLE", "STOPPED", "STOPPED_DESTROYED"), (Kind.STOPPED, "destroyed")),
        (("LIFECYCLE", "STOPPED", "STOPPED_FAILED"), (Kind.STOPPED, "crashed")),
        (("LIFECYCLE", "CRASHED", "CRASHED_PANICKED"), (Kind.CRASHED, "panicked")),
        (("REBOOT",), (Kind.REBOOTED, "")),
        (("TRAY_CHANGE", "virtio-disk0", 0), (Kind.TRAY, "virtio-disk0 open")),
        (("IO_ERROR_REASON", "/path", "virtio-disk0", 1, "enospc"), (Kind.IO_ERROR, "virtio-disk0 pause enospc")),
        (("AGENT_LIFECYCLE", 1, 0), (Kind.AGENT, "connected")),
    ],
)
def test_events(happening: tuple[Any, ...], told: tuple[Kind, str]) -> None:
    connection, heard = Connection(), []
    register(connection, lambda *event: heard.append(event))  # type: ignore[arg-type]
    kind, *details = happening
    if kind == "LIFECYCLE":
        details = [getattr(libvirt, f"VIR_DOMAIN_EVENT_{detail}") for detail in details]
    connection.happen(kind, *details)
    assert heard == [("vm", *told)]


def test_being_defined_is_no_event_of_a_life() -> None:
    connection, heard = Connection(), []
    register(connection, lambda *event: heard.append(event))  # type: ignore[arg-type]
    connection.happen("LIFECYCLE", libvirt.VIR_DOMAIN_EVENT_DEFINED, 0)
    assert heard == []
