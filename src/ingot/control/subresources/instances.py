"""Which state of an instance allows what, in KubeVirt's words. What may be done is done by its node's agent."""

from collections.abc import Callable

from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of
from ingot.api.status import ApiError, bad_request, conflict, forbidden
from ingot.kube.objects import is_true

GROUP = "kubevirt.io"
KIND = "virtualmachineinstance"
NOT_RUNNING = "VMI is not running"

Check = Callable[[Object], None]


def may_pause(instance: Object) -> None:
    if not _runs(instance):
        raise _conflict(instance, "VM is not running")
    if instance["spec"].get("livenessProbe"):
        why = "Pausing VMIs with LivenessProbe is currently not supported"
        raise forbidden(GROUP, KIND, name_of(instance), why)
    if is_true(instance, "Paused"):
        raise _conflict(instance, "VMI is already paused")


def may_unpause(instance: Object) -> None:
    may_reset(instance)
    if not is_true(instance, "Paused"):
        raise _conflict(instance, "VMI is not paused")


def may_reset(instance: Object) -> None:
    if not _runs(instance):
        raise _conflict(instance, NOT_RUNNING)


def may_reboot(instance: Object) -> None:
    may_reset(instance)
    if is_true(instance, "Paused"):
        raise _conflict(instance, "VMI is paused")
    acpi = instance["spec"]["domain"].get("features", {}).get("acpi", {}).get("enabled", True)
    if not acpi and not is_true(instance, "AgentConnected"):
        raise _conflict(instance, "VMI neither have the agent connected nor the ACPI feature enabled")


def may_open_console(instance: Object) -> None:
    _may_open(instance, "autoattachSerialConsole", "No serial consoles are present.")


def may_open_screen(instance: Object) -> None:
    _may_open(instance, "autoattachGraphicsDevice", "No graphics devices are present.")


CHECKS: dict[str, Check] = {
    "console": may_open_console,
    "pause": may_pause,
    "reset": may_reset,
    "softreboot": may_reboot,
    "unpause": may_unpause,
    "vnc": may_open_screen,
}


def _may_open(instance: Object, switch: str, without: str) -> None:
    if instance["spec"]["domain"].get("devices", {}).get(switch) is False:
        raise bad_request(without)
    if phase.phase_of(instance) == phase.FAILED:
        raise _conflict(instance, "VMI is in failed status")
    if not _runs(instance):
        raise bad_request(NOT_RUNNING)


def _runs(instance: Object) -> bool:
    return phase.phase_of(instance) == phase.RUNNING


def _conflict(instance: Object, why: str) -> ApiError:
    return conflict(GROUP, KIND, name_of(instance), why)
