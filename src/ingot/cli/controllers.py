"""`ingot controllers`: what a cluster has of Ingot's controllers."""

import asyncio
import logging
import signal
from functools import partial
from typing import TYPE_CHECKING

import click

from ingot.cli.listen import metrics_option

if TYPE_CHECKING:
    from ingot.kube.manager import Manager

# Who stands for this Lease, in Ingot's own namespace, works; the others wait.
LEASE = "ingot-controllers"
# A large cluster is in the caches by then.
_SETTLED_SECONDS = 30.0


@click.command(epilog="Example: ingot controllers --image registry.example/ingot:1")
@click.option(
    "--image",
    required=True,
    envvar="INGOT_IMAGE",
    show_envvar=True,
    metavar="IMAGE",
    help="Ingot's own image, as the cluster's nodes find it: pods that fill volumes, and launchers, are made of it.",
)
@click.option(
    "--kubeconfig",
    default="",
    metavar="FILE",
    help="How to reach the cluster. Without it: $KUBECONFIG, else ~/.kube/config, else the pod's service account.",
)
@metrics_option
def controllers(image: str, kubeconfig: str, metrics: tuple[str, int] | None) -> None:
    """Run the controllers of a cluster: machines, volumes, snapshots.

    Any number of these may run: one leads, and another takes over when it ends. deploy/controllers.yaml has the rights
    that they need. On one machine `ingot up` does all of this.
    """
    import uvloop

    from ingot.images.fault import ImageFault
    from ingot.kube.election import LeadershipLost
    from ingot.kube.kubeconfig import ConfigError

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(image, kubeconfig, metrics))
    except (ConfigError, ImageFault) as error:
        raise click.ClickException(str(error)) from error
    except LeadershipLost as error:
        raise click.ClickException(f"{error}; it is to be started again") from error


async def _run(image: str, kubeconfig: str, metrics: tuple[str, int] | None) -> None:
    """Works until SIGTERM or SIGINT; what has begun by then is finished."""
    from ingot.api.kubevirt.names import SYSTEM_NAMESPACE
    from ingot.control.all import add_all
    from ingot.control.outfit import of_cluster
    from ingot.host.garbage import collect_after_start
    from ingot.kube.client import Client
    from ingot.kube.election import Election
    from ingot.kube.kubeconfig import load
    from ingot.kube.manager import Manager

    collect_after_start(_SETTLED_SECONDS)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Client.connect(load(kubeconfig), user_agent=LEASE) as client:
        manager = Manager(client, election=Election(client, LEASE, SYSTEM_NAMESPACE))
        add_all(manager, outfit=of_cluster(image))
        if metrics is not None:
            _show_figures(manager, *metrics)
        await manager.run(stop)


def _show_figures(manager: "Manager", host: str, port: int) -> None:
    from ingot.control.monitoring.figures import Figures

    def ready(found: int) -> None:
        logging.getLogger(__name__).info("metrics on port %d", found)

    manager.serve(partial(Figures(manager).serve, host, port, ready))
