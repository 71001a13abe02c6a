"""Starting, stopping and restarting a VirtualMachine: changes of its objects, which controllers then follow."""

from collections.abc import Awaitable, Callable

from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import INSTANCES, MACHINES
from ingot.api.status import ApiError, bad_request, conflict, not_found
from ingot.control.strategy import ALWAYS, HALTED, MANUAL, ONCE, RERUN, strategy_of
from ingot.control.subresources.options import RestartOptions, StartOptions, StopOptions
from ingot.kube.client import Client

# Controllers write a machine's status all the time; each conflict is a look at what it has become.
TRIES = 10
NOT_RUNNING = "VM is not running"


class Machines:
    """Every act raises ApiError: 404 without the machine, 409 where its state or its runStrategy forbids it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def start(self, namespace: str, name: str, options: StartOptions) -> None:
        async def step(machine: Object, instance: Object | None) -> None:
            if instance and not phase.is_final(instance) and phase.phase_of(instance) not in ("Unknown", phase.UNSET):
                raise _conflict(name, "VM is already running")
            strategy = strategy_of(machine)
            request: Object = {"action": "Start"}
            if options.paused:
                request["data"] = {"paused": "true"}
            if strategy == HALTED and not options.paused:
                await self._patch_spec(machine, running=True, dry=options.is_dry)
            elif strategy == HALTED:
                await self._ask(machine, [request], dry=options.is_dry)
            elif strategy in (MANUAL, RERUN):
                if strategy == RERUN and instance and phase.phase_of(instance) == phase.FAILED:
                    raise _conflict(name, f"{strategy} does not support starting VM from failed state")
                before = [_stop_request(instance)] if instance and phase.is_final(instance) else []
                await self._ask(machine, [*before, request], dry=options.is_dry)
            else:
                raise _conflict(name, f"{strategy} does not support manual start requests")

        await self._attempt(namespace, name, step)

    async def stop(self, namespace: str, name: str, options: StopOptions) -> None:
        async def step(machine: Object, instance: Object | None) -> None:
            strategy = strategy_of(machine)
            runs = instance is not None and not phase.is_final(instance)
            if strategy in (HALTED, MANUAL, RERUN) and not runs:
                raise _conflict(name, NOT_RUNNING)
            if strategy == HALTED and instance and not _is_hurried(instance, options.grace_period):
                raise _conflict(name, f"{strategy} only supports manual stop requests with a shorter graceperiod")
            if instance and runs and options.grace_period is not None:
                await self._set_grace(instance, options.grace_period, dry=options.is_dry)
            if strategy in (HALTED, MANUAL, RERUN) and instance:
                await self._ask(machine, [_stop_request(instance)], dry=options.is_dry)
            else:
                await self._patch_spec(machine, running=False, dry=options.is_dry)

        if options.grace_period is not None and options.grace_period < 0:
            raise bad_request("gracePeriod has to be greater or equal to 0")
        await self._attempt(namespace, name, step)

    async def restart(self, namespace: str, name: str, options: RestartOptions) -> None:
        async def step(machine: Object, instance: Object | None) -> None:
            strategy = strategy_of(machine)
            if strategy in (HALTED, ONCE):
                raise _conflict(name, f"RunStategy {strategy} does not support manual restart requests")
            if instance is None:
                raise _conflict(name, f"{NOT_RUNNING}: Halted")
            if seconds == 0:
                await self._set_grace(instance, 0, dry=options.is_dry)
            await self._ask(machine, [_stop_request(instance), {"action": "Start"}], dry=options.is_dry)

        seconds = options.grace_period_seconds
        if seconds is not None and seconds > 0:
            raise bad_request(
                "gracePeriodSeconds must be 0, which ends the guest at once; leave it out to let the guest shut down"
            )
        if seconds is not None and seconds < 0:
            raise bad_request("gracePeriod has to be greater or equal to 0")
        await self._attempt(namespace, name, step)

    async def _attempt(
        self, namespace: str, name: str, step: Callable[[Object, Object | None], Awaitable[None]]
    ) -> None:
        """Decides on what is there and writes it; anew when it has changed meanwhile."""
        for left in reversed(range(TRIES)):
            machine = await self._get_machine(namespace, name)
            instance = await find_instance(self._client, namespace, name)
            try:
                await step(machine, instance)
            except Outdated as error:
                if not left:
                    raise _conflict(name, error.cause.message) from error
            else:
                return

    async def _get_machine(self, namespace: str, name: str) -> Object:
        try:
            return await self._client.get(MACHINES, name, namespace)
        except ApiError as error:
            raise not_found("kubevirt.io", "virtualmachine", name) if error.code == 404 else error from error

    async def _patch_spec(self, machine: Object, *, running: bool, dry: bool) -> None:
        """Says in the field that the machine uses that it is to run, or not."""
        if "runStrategy" in machine["spec"]:
            spec: Object = {"runStrategy": ALWAYS if running else HALTED}
        else:
            spec = {"running": running}
        await self._patch(machine, {"spec": spec}, dry=dry)

    async def _ask(self, machine: Object, requests: list[Object], *, dry: bool) -> None:
        """Leaves requests to the machine's controller, unless others are waiting; a stop pushes those aside."""
        waiting = machine.get("status", {}).get("stateChangeRequests") or []
        if waiting and [request["action"] for request in requests] != ["Stop"]:
            why = "unable to complete request: stop/start already underway"
            raise _conflict(name_of(machine), why)
        status: Object = {"stateChangeRequests": requests}
        if machine.get("status", {}).get("startFailure"):
            status["startFailure"] = None
        await self._patch(machine, {"status": status}, "status", dry=dry)

    async def _patch(self, machine: Object, change: Object, subresource: str = "", *, dry: bool) -> None:
        change["metadata"] = {"resourceVersion": machine["metadata"]["resourceVersion"]}
        try:
            await self._client.patch(
                MACHINES, name_of(machine), change, namespace_of(machine), subresource=subresource, dry_run=dry
            )
        except ApiError as error:
            if error.code == 409:
                raise Outdated(error) from error
            raise

    async def _set_grace(self, instance: Object, seconds: int, *, dry: bool) -> None:
        change = {"spec": {"terminationGracePeriodSeconds": seconds}}
        await self._client.patch(INSTANCES, name_of(instance), change, namespace_of(instance), dry_run=dry)


class Outdated(Exception):
    """What was decided on has changed: `cause` is the server's conflict."""

    def __init__(self, cause: ApiError) -> None:
        super().__init__(cause.message)
        self.cause = cause


async def find_instance(client: Client, namespace: str, name: str) -> Object | None:
    try:
        return await client.get(INSTANCES, name, namespace)
    except ApiError as error:
        if error.code != 404:
            raise
        return None


def _is_hurried(instance: Object, seconds: int | None) -> bool:
    """Whether a grace period is shorter than the one that the guest has already."""
    has = instance["spec"].get("terminationGracePeriodSeconds")
    return seconds is not None and (has is None or seconds < has)


def _stop_request(instance: Object) -> Object:
    return {"action": "Stop", "uid": uid_of(instance)}


def _conflict(name: str, why: str) -> ApiError:
    return conflict("kubevirt.io", "virtualmachine", name, why)
