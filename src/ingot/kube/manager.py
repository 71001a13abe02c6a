"""Everything that a process of controllers runs, started in order and stopped in order."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from ingot.api.resource import Resource
from ingot.kube.client import Client, Selection
from ingot.kube.clock import SYSTEM, Clock, within
from ingot.kube.controller import Controller
from ingot.kube.election import Election
from ingot.kube.informer import Informer
from ingot.kube.tally import Tally

log = logging.getLogger(__name__)

STOP_SECONDS = 20.0


class Manager:
    """Shares one informer among all who watch the same objects, and runs controllers on them.

    Informers and services run from the start, controllers once the caches are full and, given an `election`, only
    while this process leads.
    """

    def __init__(self, client: Client, *, election: Election | None = None, clock: Clock = SYSTEM) -> None:
        self.client = client
        self.tally = Tally()
        self._election = election
        self._clock = clock
        self._informers: dict[tuple[object, ...], Informer] = {}
        self._controllers: list[Controller] = []
        self._services: list[Callable[[], Awaitable[None]]] = []

    def informer(self, resource: Resource, namespace: str = "", **selection: Unpack[Selection]) -> Informer:
        """The informer for these objects: always the same one, to be asked for before `run`, which runs it."""
        key = (resource, namespace, *sorted(selection.items()))
        if key not in self._informers:
            self._informers[key] = Informer(self.client, resource, namespace, clock=self._clock, **selection)
        return self._informers[key]

    def add(self, controller: Controller) -> None:
        """Run the controller, and count what it does in `tally`."""
        controller.observe = self.tally.take
        self._controllers.append(controller)

    @property
    def leads(self) -> bool:
        """Whether the controllers of this process are those that work."""
        return self._election is None or self._election.is_leader

    @property
    def has_synced(self) -> bool:
        """Whether every cache has held everything once."""
        return all(informer.has_synced for informer in self._informers.values())

    def waiting(self) -> dict[str, int]:
        """How many keys are ready to be worked on, by controller."""
        return {controller.name: len(controller.queue) for controller in self._controllers}

    def serve(self, service: Callable[[], Awaitable[None]]) -> None:
        """Run `service()`, leader or not: webhooks, event recorders. It ends by being cancelled."""
        self._services.append(service)

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set. Raises what a service raised, or LeadershipLost; all else has ended by then.

        On `stop`, controllers finish what they have begun (for up to 20 s), the Lease is given back, and then
        informers and services are cancelled.
        """
        services = [*(informer.run for informer in self._informers.values()), *self._services]
        background = [asyncio.ensure_future(service()) for service in services]
        leading = asyncio.ensure_future(self._election.run(self._lead) if self._election else self._lead())
        stopping = asyncio.ensure_future(stop.wait())
        try:
            waiting: set[asyncio.Future[Any]] = {stopping, leading, *background}
            while not stopping.done():
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            await self._finish(leading)
        finally:
            tasks = [leading, stopping, *background]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _lead(self) -> None:
        async with asyncio.TaskGroup() as group:
            for controller in self._controllers:
                group.create_task(controller.run())

    async def _finish(self, leading: asyncio.Future[None]) -> None:
        for controller in self._controllers:
            controller.stop()
        if self._election and not self._election.is_leader:
            leading.cancel()
        try:
            await within(self._clock, STOP_SECONDS, leading)
        except TimeoutError:
            log.warning("controllers did not finish within %g s and were cancelled", STOP_SECONDS)
        except asyncio.CancelledError:
            if not leading.cancelled():
                raise
