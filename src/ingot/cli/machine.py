"""`ingot machine`: what a cluster has around its API server, on one machine: controllers, scheduler, pods, volumes."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.child import kubeconfig_option, node_name_option, run_child
from ingot.cli.directory import directory_option
from ingot.cli.up import SUBRESOURCES

if TYPE_CHECKING:
    from ingot.kube.client import Client


@click.command(epilog="Example: ingot machine --dir ~/lab")
@directory_option
@kubeconfig_option
@node_name_option
def machine(directory: Path, kubeconfig: str, node_name: str) -> None:
    """Run the controllers of one machine, and its pods.

    `ingot up` starts this beside the API server and starts it again when it ends. Pods run on when it ends: the next
    one finds them.
    """

    async def work(client: "Client", stop: asyncio.Event) -> None:
        from ingot.control.subresources.server import serve
        from ingot.kube.manager import Manager

        manager = Manager(client)
        manager.serve(partial(serve, client, directory / SUBRESOURCES))
        await manager.run(stop)

    run_child(directory, "machine", kubeconfig, work)
