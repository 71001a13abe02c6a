"""The machine that a restore is for: it must not run, and does not start until the restore is over."""

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import INSTANCES, MACHINES
from ingot.api.status import ApiError
from ingot.control.owning import REFUSED_SECONDS, is_passing
from ingot.control.snapshots.restored import Impossible
from ingot.control.snapshots.words import LAST_RESTORE, restore_of, seconds_at
from ingot.control.subresources.machines import Machines as Acts
from ingot.control.subresources.options import StopOptions
from ingot.control.writing import live
from ingot.kube.change import patch_status
from ingot.kube.client import Client
from ingot.kube.clock import timestamp
from ingot.kube.objects import copy_of, is_deleting

# KubeVirt's: how long a restore waits for somebody to stop the machine.
GRACE_SECONDS = 300.0


class NotYet(Exception):
    """The restore waits; `reason` is one word, the message says for what, `again` is when to look at the latest."""

    def __init__(self, reason: str, message: str, again: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.again = again


def refused(reason: str, what: str, error: ApiError) -> NotYet:
    """The fault for an object that the server will not take as things are; raises an error that passes."""
    if is_passing(error):
        raise error
    return NotYet(reason, f"{what} was refused: {error.message}; tried again", REFUSED_SECONDS)


def is_restored(machine: Object | None, restore: Object) -> bool:
    """Whether the machine stands on what the restore made."""
    annotations = (machine or {}).get("metadata", {}).get("annotations") or {}
    return bool(annotations.get(LAST_RESTORE) == uid_of(restore))


def check_same(machine: Object, snapshot: Object) -> None:
    """Only the machine that a snapshot was made of is overwritten. Raises Impossible."""
    if uid_of(machine) != (snapshot.get("status") or {}).get("sourceUID"):
        raise Impossible(
            f'VirtualMachine "{name_of(machine)}" exists, and is not the one that the snapshot was made of: '
            "name a machine in spec.target that does not exist yet"
        )


class Target:
    """Stops, holds and frees machines."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._acts = Acts(client)

    async def check_stopped(self, machine: Object, restore: Object, now: float) -> None:
        """Raises NotYet while the machine has an instance, Impossible where that is not waited for."""
        instance = await live(self._client, INSTANCES, name_of(machine), namespace_of(machine))
        if instance is None:
            return
        shown = f'VirtualMachine "{name_of(machine)}" is running'
        policy = restore["spec"].get("targetReadinessPolicy", "WaitGracePeriod")
        if policy == "StopTarget":
            if not is_deleting(instance):
                await self._acts.stop(namespace_of(machine), name_of(machine), StopOptions())
            raise NotYet("TargetNotReady", f"{shown}: it is being stopped, and the restore follows")
        if policy == "FailImmediate":
            raise Impossible(f"{shown}: stop it, and make another restore")
        if policy == "WaitEventually":
            raise NotYet("TargetNotReady", f"{shown}: stop it, and the restore follows")
        until = seconds_at(restore["metadata"]["creationTimestamp"]) + GRACE_SECONDS
        if now >= until:
            raise Impossible(f"{shown}, and was not stopped within {GRACE_SECONDS:g} s: stop it, and make another")
        message = f"{shown}: stop it, and the restore follows; it gives up at {timestamp(until)}"
        raise NotYet("TargetNotReady", message, until - now)

    async def hold(self, machine: Object, restore: Object) -> Object:
        """The machine, which does not start from now on. Raises NotYet while something else is done to it."""
        if is_deleting(machine):
            raise NotYet(
                "TargetDeleting", f'VirtualMachine "{name_of(machine)}" is being deleted: made anew after that'
            )
        if other := (machine.get("status") or {}).get("snapshotInProgress"):
            raise NotYet("SnapshotInProgress", f'VirtualMachineSnapshot "{other}" of the machine is being made')
        if restore_of(machine) not in ("", name_of(restore)):
            raise NotYet("RestoreInProgress", f'VirtualMachineRestore "{restore_of(machine)}" of the machine goes on')
        told = copy_of(machine)
        told.setdefault("status", {})["restoreInProgress"] = name_of(restore)
        return await patch_status(self._client, MACHINES, machine, told)

    async def free(self, restore: Object) -> None:
        """The restore is over: the machine may start, if it was held by this one."""
        name = restore["spec"]["target"]["name"]
        machine = await live(self._client, MACHINES, name, namespace_of(restore))
        if machine is None or restore_of(machine) != name_of(restore):
            return
        told = copy_of(machine)
        told["status"].pop("restoreInProgress", None)
        await patch_status(self._client, MACHINES, machine, told)
