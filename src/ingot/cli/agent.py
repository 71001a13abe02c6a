"""`ingot agent`: what starts and looks after the guests of one node."""

import asyncio
import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.child import NeedsMending, kubeconfig_option, node_name_option, run_child
from ingot.cli.directory import directory_option
from ingot.cli.usage import UnusableError, check, usage_type_option

if TYPE_CHECKING:
    from ingot.kube.client import Client

# Where the agent answers about its guests.
SOCKET = "agent.sock"


_OPTIONS = [
    usage_type_option,
    click.option(
        "--accelerator",
        type=click.Choice(["kvm", "tcg"]),
        help="How guests are run; without it what works on this machine.",
    ),
    click.option("--libvirt", metavar="URI", help="The libvirt to use; without it one is started in DIR/node."),
]


def guest_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options about guests, which `ingot up` hands on to `ingot agent`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command(epilog="Example: ingot agent --dir ~/lab --usage-type fast=/mnt/nvme")
@directory_option
@kubeconfig_option
@node_name_option
@guest_options
def agent(
    directory: Path,
    kubeconfig: str,
    node_name: str,
    usage_types: dict[str, Path],
    accelerator: str | None,
    libvirt: str | None,
) -> None:
    """Run the guests of this machine: their disks, their domains, their consoles.

    `ingot up` starts this beside the API server and starts it again when it ends. Guests run on when it ends: the next
    one finds them.
    """

    async def work(client: "Client", stop: asyncio.Event) -> None:
        from ingot.node.agent import Agent, Options
        from ingot.node.link import HypervisorError

        try:
            check(usage_types)
        except UnusableError as error:
            raise NeedsMending(str(error)) from error
        options = Options(
            node=node_name,
            directory=directory / "node",
            kubelet=directory / "kubelet",
            socket=directory / SOCKET,
            locations=usage_types,
            accelerator=accelerator,
            libvirt=libvirt,
            user=guest_user(directory),
        )
        try:
            await Agent(client, options).run(stop)
        except HypervisorError as error:
            raise NeedsMending(f"{error}; `ingot doctor` tells what is missing") from error
        except OSError as error:
            if error.filename is None:
                raise
            raise NeedsMending(f"{error.filename}: {error.strerror}; mend that, or choose another --dir") from error

    run_child(directory, "agent", kubeconfig, work)


def guest_user(directory: Path) -> str | None:
    """Whom QEMU runs as: as root another user, who must be there and reach the directory; None for ourselves."""
    from ingot.node.libvirt_home import QEMU_USER

    if os.geteuid() != 0:
        return None
    try:
        user = pwd.getpwnam(QEMU_USER)
    except KeyError:
        why = (
            f"there is no user {QEMU_USER}, as whom guests run; install libvirt: apt-get install libvirt-daemon-system"
        )
        raise NeedsMending(why) from None
    for place in (directory, *directory.parents):
        found = place.stat()
        needed = 0o100 if found.st_uid == user.pw_uid else 0o010 if found.st_gid == user.pw_gid else 0o001
        if not found.st_mode & needed:
            why = f"{place} may not be entered by {QEMU_USER}, as whom guests run"
            raise NeedsMending(f"{why}; chmod o+x {place}, or choose another directory with --dir")
    return QEMU_USER
