"""Scheduler, binder and provisioner as a process of their own, to be killed: KUBECONFIG DIRECTORY."""

import asyncio
import sys
from pathlib import Path

from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.kube.manager import Manager
from ingot.standalone.scheduler.scheduler import Scheduler
from ingot.standalone.volumes.binder import Binder
from ingot.standalone.volumes.provisioner import Provisioner


async def main(kubeconfig: Path, directory: Path) -> None:
    async with Client.connect(load(kubeconfig)) as client:
        manager = Manager(client)
        Scheduler(manager)
        Binder(manager)
        Provisioner(manager, directory, "here")
        await manager.run(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
