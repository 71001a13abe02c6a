"""`ingot webhook`: what kube-apiserver asks about Ingot's kinds."""

import asyncio
import errno
import logging
import os
import signal
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.listen import listen_option, metrics_option, taken

if TYPE_CHECKING:
    from ingot.kube.client import Client
    from ingot.kube.webhook import WebhookServer

DEFAULT_LISTEN = ":9443"


@click.command(epilog="Example: ingot webhook --certificate /tls/tls.crt --key /tls/tls.key --listen :9443")
@click.option(
    "--certificate",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Certificate to show, as PEM. A new one in its place is used at once.",
)
@click.option("--key", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Its private key, as PEM.")
@click.option(
    "--kubeconfig",
    default="",
    metavar="FILE",
    help="How to ask the cluster whether a user may give machines files of its nodes, or clone volumes of another "
    "namespace. Without it: $KUBECONFIG, else ~/.kube/config, else the pod's service account.",
)
@listen_option(DEFAULT_LISTEN, everywhere=True)
@metrics_option
def webhook(
    certificate: Path, key: Path, kubeconfig: str, listen: tuple[str, int], metrics: tuple[str, int] | None
) -> None:
    """Answer a cluster's questions about Ingot's kinds.

    On a cluster kube-apiserver calls this for every object of Ingot that is written, or read in another version:
    /mutate, /validate and /convert, as deploy/webhooks.yaml and deploy/crds tell it. It serves until Ctrl-C.
    """
    from ingot.images.fault import ImageFault
    from ingot.kube.kubeconfig import ConfigError

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    host, port = listen
    try:
        asyncio.run(_serve(certificate, key, kubeconfig, host, port, metrics))
    except (ConfigError, ImageFault) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(_why(error, host, port)) from error


async def _serve(
    certificate: Path, key: Path, kubeconfig: str, host: str, port: int, metrics: tuple[str, int] | None
) -> None:
    """Serves until SIGTERM or SIGINT; questions that have been asked by then are answered."""
    from ingot.kube.client import Client
    from ingot.kube.kubeconfig import ConfigError, load

    async with AsyncExitStack() as stack:
        client, lacking = None, ""
        try:
            client = await stack.enter_async_context(Client.connect(load(kubeconfig)))
        except ConfigError as error:
            if kubeconfig or os.environ.get("KUBECONFIG"):
                raise
            lacking = (
                "Only system:masters may give machines files of nodes, or clone volumes of another namespace, as "
                f"nobody's rights can be asked: {error}"
            )
        if metrics is not None:
            from ingot.control.monitoring.certificates import shown_certificates

            await stack.enter_async_context(shown_certificates({"webhook": certificate}, *metrics))
        await _run(_server(certificate, key, client, host, port), host, lacking)


async def _run(server: "WebhookServer", host: str, lacking: str) -> None:
    running = asyncio.create_task(server.run())
    announcing = asyncio.create_task(_announce(server, host, lacking))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    try:
        with suppress(asyncio.CancelledError):
            await running
    finally:
        announcing.cancel()


async def _announce(server: "WebhookServer", host: str, lacking: str) -> None:
    await server.ready.wait()
    place = f"[{host}]" if ":" in host else host or "*"
    click.echo(f"Ingot answers webhooks at https://{place}:{server.port} (pid {os.getpid()})")
    if lacking:
        click.echo(lacking, err=True)


def _server(certificate: Path, key: Path, client: "Client | None", host: str, port: int) -> "WebhookServer":
    from ingot.api import registry
    from ingot.api.machinery.webhooks import CONVERT, MUTATE, VALIDATE
    from ingot.api.object import Object, split_api_version
    from ingot.control.judge import judge
    from ingot.kube.webhook import WebhookServer

    def convert(obj: Object, api_version: str) -> Object:
        return registry.convert(obj, split_api_version(api_version)[1])

    server = WebhookServer(certificate, key, host=host or None, port=port)
    server.mutate(MUTATE, registry.admit)
    server.review(VALIDATE, judge(client))
    server.convert(CONVERT, convert)
    return server


def _why(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return taken(host, port)
    return f"cannot listen on {host}:{port}: {error.strerror or error}; choose another with --listen"
