"""What `ingot machine` and `ingot agent` share: one process of each to a directory, until it is told to end."""

import asyncio
import fcntl
import logging
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.host.garbage import collect_after_start
from ingot.standalone.children import NEEDS_MENDING, die_with_parent

if TYPE_CHECKING:
    from ingot.kube.client import Client
    from ingot.kube.kubeconfig import Config

# A process that is being killed keeps its lock for a moment.
_PATIENCE = 5.0
_PAUSE = 0.05
_SETTLED_SECONDS = 5.0

kubeconfig_option = click.option(
    "--kubeconfig",
    default="",
    metavar="FILE",
    help="How to reach the API server; without it DIR/kubeconfig, which `ingot up` writes.",
)
node_name_option = click.option(
    "--node-name",
    default=lambda: socket.gethostname().lower(),
    show_default="the host's name",
    metavar="NAME",
    help="The name of this machine's Node object.",
)


class NeedsMending(click.ClickException):
    """What stands in the way, and how a person mends it. The server starts the command again after a while."""

    exit_code = NEEDS_MENDING


def run_child(
    directory: Path, name: str, kubeconfig: str, work: Callable[["Client", asyncio.Event], Awaitable[None]]
) -> None:
    """Runs `work(client, stop)` as the only process of that name in the directory; SIGTERM and SIGINT set `stop`."""
    import uvloop

    die_with_parent()
    # Everything made from here on holds secrets, or may.
    os.umask(0o077)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    descriptor = _only(directory, name)
    try:
        config = _load(Path(kubeconfig) if kubeconfig else directory / "kubeconfig")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(config, f"ingot-{name}", work))
    finally:
        os.close(descriptor)


async def _run(config: "Config", agent: str, work: Callable[["Client", asyncio.Event], Awaitable[None]]) -> None:
    from ingot.kube.client import Client

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    collect_after_start(_SETTLED_SECONDS)
    async with Client.connect(config, user_agent=agent) as client:
        await work(client, stop)


def _load(kubeconfig: Path) -> "Config":
    from ingot.kube.kubeconfig import ConfigError, load

    if not kubeconfig.exists():
        raise NeedsMending(f"{kubeconfig} is not there; start the server with `ingot up`, or give another --kubeconfig")
    try:
        return load(kubeconfig)
    except ConfigError as error:
        raise NeedsMending(f"{error}; put it right, or give another --kubeconfig") from error


def _only(directory: Path, name: str) -> int:
    """A descriptor that holds the right to be the directory's process of that name."""
    try:
        descriptor = os.open(directory / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError as error:
        raise NeedsMending(f"{directory} is not there; `ingot up --dir {directory}` makes it") from error
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                why = f"another `ingot {name}` works on {directory}; end it first"
                raise NeedsMending(why) from None
            time.sleep(_PAUSE)
        else:
            return descriptor
