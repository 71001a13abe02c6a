"""A whole controller: for every ConfigMap that asks for it, keep another one that greets.

    kubectl apply -f examples/controllers/world.yaml
    kubectl get configmap world-greeting -o jsonpath='{.data.greeting}'

docs/controllers.md walks through it.
"""

import asyncio
import signal

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.kube.cache import Key
from ingot.kube.change import create_or_patch
from ingot.kube.client import Client
from ingot.kube.controller import Controller, Final
from ingot.kube.election import Election
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting, set_controller_reference

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
LABEL = "greeter.example/greet"


class Greeter:
    """Keeps `NAME-greeting` for each ConfigMap NAME with the label, for as long as that is there."""

    def __init__(self, manager: Manager, namespace: str = "") -> None:
        self.client = manager.client
        self.asking = manager.informer(CONFIG_MAPS, namespace, label_selector=LABEL)
        self.events = Recorder(manager.client, "greeter")
        every_map = manager.informer(CONFIG_MAPS, namespace)
        manager.serve(self.events.run)
        manager.add(
            Controller("greeter", self.reconcile, workers=2).watch(self.asking).own(every_map, owner=CONFIG_MAPS)
        )

    async def reconcile(self, key: Key) -> None:
        asking = self.asking.cache.get(key)
        if asking is None or is_deleting(asking):
            # The greeting goes with its owner: the garbage collector sees to that.
            return
        name = asking.get("data", {}).get("name")
        if not name:
            self.events.record(asking, "NoName", "data.name is missing: nobody to greet", "Warning")
            raise Final("data.name is missing")

        def greet(greeting: Object) -> None:
            set_controller_reference(greeting, asking)
            greeting["data"] = {"greeting": f"Hello, {name}!"}

        greeting: Object = {"metadata": {"name": f"{key.name}-greeting", "namespace": key.namespace}}
        _, outcome = await create_or_patch(self.client, CONFIG_MAPS, greeting, greet)
        if outcome != "unchanged":
            self.events.record(asking, "Greeted", f"the greeting for {name} was {outcome}")


async def main() -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Client.connect() as client:
        namespace = client.transport.config.namespace
        manager = Manager(client, election=Election(client, "greeter", namespace))
        Greeter(manager)
        await manager.run(stop)


if __name__ == "__main__":
    asyncio.run(main())
