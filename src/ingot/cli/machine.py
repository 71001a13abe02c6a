"""`ingot machine`: what a cluster has around its API server, on one machine: controllers, scheduler, pods, volumes."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.child import NeedsMending, kubeconfig_option, node_name_option, run_child
from ingot.cli.directory import directory_option
from ingot.cli.listen import metrics_option
from ingot.cli.up import SUBRESOURCES

if TYPE_CHECKING:
    from ingot.kube.client import Client
    from ingot.kube.manager import Manager


@click.command(epilog="Example: ingot machine --dir ~/lab")
@directory_option
@kubeconfig_option
@node_name_option
@metrics_option
def machine(directory: Path, kubeconfig: str, node_name: str, metrics: tuple[str, int] | None) -> None:
    """Run the controllers of one machine, and its pods.

    `ingot up` starts this beside the API server and starts it again when it ends. Pods run on when it ends: the next
    one finds them.
    """

    async def work(client: "Client", stop: asyncio.Event) -> None:
        from ingot.images.fault import ImageFault

        manager = _manager(client, directory, node_name)
        _show_figures(manager, directory, node_name, metrics)
        try:
            await manager.run(stop)
        except ImageFault as fault:
            raise NeedsMending(str(fault)) from fault

    run_child(directory, "machine", kubeconfig, work)


def _manager(client: "Client", directory: Path, node_name: str) -> "Manager":
    """Everything that one machine needs beside its API server and its agent."""
    from ingot.control.all import add_all
    from ingot.control.outfit import Outfit
    from ingot.control.subresources.server import serve
    from ingot.kube.manager import Manager
    from ingot.standalone.pods.runner import PodRunner
    from ingot.standalone.scheduler.scheduler import Scheduler
    from ingot.standalone.volumes.binder import Binder
    from ingot.standalone.volumes.provisioner import Provisioner

    manager = Manager(client)
    add_all(manager, outfit=Outfit(kubelet=directory / "kubelet"))
    manager.serve(partial(serve, client, directory / SUBRESOURCES))
    Scheduler(manager)
    Binder(manager)
    Provisioner(manager, directory / "volumes", node_name)
    PodRunner(manager, node_name, directory / "kubelet")
    return manager


def _show_figures(manager: "Manager", directory: Path, node_name: str, metrics: tuple[str, int] | None) -> None:
    from ingot.cli.metrics import announce, forget
    from ingot.control.monitoring.certificates import files_of
    from ingot.control.monitoring.figures import Figures
    from ingot.control.monitoring.storage import Pool

    forget(directory)
    if metrics is None:
        return
    pool = Pool(directory / "volumes", node_name)
    figures = Figures(manager, pool=pool, certificates=files_of(directory / "pki"))
    manager.serve(partial(figures.serve, *metrics, partial(announce, directory, metrics[0])))
