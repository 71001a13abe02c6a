"""`ingot gateway`: uploads on a cluster, and the tokens for them."""

import asyncio
import errno
import logging
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import click

from ingot.cli.listen import listen_option, metrics_option

UPLOADS, TOKENS = ":8443", ":9443"


def _checked(_context: click.Context, _option: click.Parameter, value: str) -> str:
    host, _, port = value.rpartition(":")
    if value and not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise click.BadParameter(f"{value!r} is not HOST:PORT, such as uploads.example.org:443 or [2001:db8::1]:443")
    return value


@click.command(epilog="Example: ingot gateway --known-as uploads.example.org:443")
@click.option(
    "--known-as",
    default="",
    callback=_checked,
    metavar="HOST:PORT",
    help="How clients reach uploads, for CDIConfig and the certificate; without it the Service, as pods reach it.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("/run/ingot"),
    show_default=True,
    help="Where to put keys; in memory, best.",
)
@click.option(
    "--kubeconfig",
    default="",
    metavar="FILE",
    help="How to reach the cluster. Without it: $KUBECONFIG, else ~/.kube/config, else the pod's service account.",
)
@listen_option(UPLOADS, everywhere=True, what="Where to take uploads")
@listen_option(TOKENS, everywhere=True, name="--listen-tokens", what="Where to answer the API server")
@metrics_option
def gateway(
    known_as: str,
    directory: Path,
    kubeconfig: str,
    listen: tuple[str, int],
    listen_tokens: tuple[str, int],
    metrics: tuple[str, int] | None,
) -> None:
    """Take uploads on a cluster, and give tokens for them.

    kube-apiserver passes UploadTokenRequests on to this: deploy/gateway.yaml has the APIServices, and the rights that
    it needs. Any number of these may run. On one machine `ingot up` does all of this.
    """
    from ingot.host.files import private_directory
    from ingot.images.fault import ImageFault
    from ingot.kube.kubeconfig import ConfigError

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        private_directory(directory)
        asyncio.run(_run(known_as, directory, kubeconfig, listen, listen_tokens, metrics))
    except (ConfigError, ImageFault) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
            raise
        why = f"cannot listen: {error.strerror}; choose other ports with --listen and --listen-tokens"
        raise click.ClickException(why) from error


async def _run(
    known_as: str,
    directory: Path,
    kubeconfig: str,
    uploads: tuple[str, int],
    tokens: tuple[str, int],
    metrics: tuple[str, int] | None,
) -> None:
    """Serves until SIGTERM or SIGINT; what is being sent by then may end."""
    from ingot.control.monitoring.certificates import shown_certificates
    from ingot.kube.client import Client
    from ingot.kube.kubeconfig import load
    from ingot.web.cluster.gateway import SERVICE, Gateway, Ports

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    ports = Ports(uploads, tokens, known_as or f"{SERVICE}:443")
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client.connect(load(kubeconfig), user_agent="ingot-gateway"))
        serving = Gateway(client, ports, directory)
        if metrics is not None:
            await stack.enter_async_context(shown_certificates(serving.certificates, *metrics))
        await serving.run(stop)
