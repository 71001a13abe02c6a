"""`ingot up`: the API server of this machine, and the processes beside it."""

import errno
import logging
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.agent import guest_options
from ingot.cli.child import node_name_option
from ingot.cli.directory import directory_option
from ingot.cli.listen import listen_option, metrics_option, taken
from ingot.cli.web import DEFAULT_LISTEN as WEB_LISTEN

if TYPE_CHECKING:
    from ingot.standalone.children import Child
    from ingot.standalone.process import DirectoryLock

DEFAULT_LISTEN = "127.0.0.1:6440"
READY_SECONDS = 30.0
# Where `ingot machine` answers for the groups that are no stored objects.
SUBRESOURCES = "subresources.sock"


@click.command(epilog="Example: ingot up --dir ~/lab --listen 127.0.0.1:0 --detach")
@directory_option
@listen_option(DEFAULT_LISTEN)
@click.option("--detach", is_flag=True, help="Serve in the background; return when the server is ready.")
@node_name_option
@guest_options
@listen_option(WEB_LISTEN, name="--uploads", what="Where to take uploads")
@metrics_option
@click.option("--only-api", is_flag=True, help="Serve the API and nothing else: no controllers, no pods, no guests.")
def up(
    directory: Path,
    listen: tuple[str, int],
    detach: bool,
    node_name: str,
    usage_types: dict[str, Path],
    accelerator: str | None,
    libvirt: str | None,
    uploads: tuple[str, int],
    metrics: tuple[str, int] | None,
    only_api: bool,
) -> None:
    """Serve the Kubernetes API from a directory, and run on this machine what it asks for.

    Writes DIR/kubeconfig, with which kubectl and the other commands of ingot find the server. Starts `ingot machine`,
    `ingot agent` and `ingot web` beside it, which work until the server ends; so do imports, uploads and copies, which
    go on with the next `ingot up`. Other pods, and guests, run on. Without --detach it serves until Ctrl-C. Options are
    not remembered: give them each time.
    """
    from ingot.standalone.process import DirectoryInUseError, DirectoryLock

    # Everything made from here on holds secrets, or may.
    os.umask(0o077)
    lock = DirectoryLock(directory)
    try:
        lock.acquire()
    except DirectoryInUseError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        why = f"{directory} cannot be used: {error.strerror}; choose another with --dir"
        raise click.ClickException(why) from error
    _check(usage_types)
    host, port = listen
    guests = [f"--usage-type={name}={path}" for name, path in usage_types.items()]
    guests += [f"--accelerator={accelerator}"] if accelerator else []
    guests += [f"--libvirt={libvirt}"] if libvirt else []
    children = [] if only_api else _children(directory, node_name, guests, uploads, metrics)
    if children:
        _let_through(directory)
    if detach:
        _serve_behind(lock, host, port, children)
    else:
        _serve(lock, host, port, children, lambda address: _announce(directory, address, os.getpid()))


def _check(usage_types: dict[str, Path]) -> None:
    """Now, and not when the agent finds out, whom nobody watches."""
    from ingot.cli.usage import UnusableError, check

    try:
        check(usage_types)
    except UnusableError as error:
        raise click.ClickException(str(error)) from error


def _children(
    directory: Path, node_name: str, guests: list[str], uploads: tuple[str, int], metrics: tuple[str, int] | None
) -> "list[Child]":
    from ingot.standalone.children import Child

    ingot = (sys.executable, "-m", "ingot")
    common = ("--dir", str(directory), "--node-name", node_name)
    host, port = uploads
    figures = ["--metrics=[{}]:{}".format(*metrics)] if metrics else []
    return [
        Child("machine", [*ingot, "machine", *common, *figures]),
        Child("agent", [*ingot, "agent", *common, *guests]),
        Child("web", [*ingot, "web", "--dir", str(directory), "--listen", f"[{host}]:{port}"]),
    ]


def _let_through(directory: Path) -> None:
    """As root, guests run as another user, who must reach their disks below the directory."""
    if os.geteuid() == 0:
        directory.chmod(stat.S_IMODE(directory.stat().st_mode) | 0o011)


def _serve_behind(lock: "DirectoryLock", host: str, port: int, children: "list[Child]") -> None:
    from ingot.standalone.daemon import StartError, detach
    from ingot.standalone.probe import wait_ready
    from ingot.standalone.process import running

    directory = lock.directory
    log = directory / "ingot.log"

    def work(ready: Callable[[str], None]) -> None:
        try:
            _serve(lock, host, port, children, ready)
        except click.ClickException:
            raise
        except Exception as error:
            raise StartError(f"the server failed ({type(error).__name__}: {error}); see {log}") from error

    try:
        address = detach(log, work)
    except StartError as error:
        raise click.ClickException(error.why) from error
    finally:
        lock.close()
    if not wait_ready(directory, address, READY_SECONDS):
        raise click.ClickException(f"the server at {address} does not answer; see {log}")
    record = running(directory)
    _announce(directory, address, record.pid if record else 0)


def _serve(lock: "DirectoryLock", host: str, port: int, children: "list[Child]", ready: Callable[[str], None]) -> None:
    """Serves until told to end, and tells others where. Raises ClickException for what the user can mend."""
    from ingot.standalone.access.pki import PkiError
    from ingot.standalone.children import Children, Parent
    from ingot.standalone.daemon import run
    from ingot.standalone.server import Server
    from ingot.standalone.store.faults import DatabaseError

    def started(address: str) -> None:
        lock.publish(address)
        ready(address)

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        server = Server(lock.directory, host, port, lock.directory / SUBRESOURCES if children else None)
        run(Parent(server, Children(lock.directory, children)), started)
        if children:
            _part(lock.directory)
    except (PkiError, DatabaseError) as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(_why(error, host, port, lock.directory)) from error
    finally:
        lock.withdraw()
        lock.close()


def _part(directory: Path) -> None:
    """Stops what must not work without us, and says so."""
    from ingot.cli.residents import tell_guests, tell_workers
    from ingot.standalone.pods import workers

    tell_workers(workers.stop(directory / "kubelet"))
    tell_guests(directory)


def _why(error: OSError, host: str, port: int, directory: Path) -> str:
    if error.errno == errno.EADDRINUSE:
        return taken(host, port)
    if error.errno in (errno.EADDRNOTAVAIL, errno.EACCES) and error.filename is None:
        return f"cannot listen on {host}:{port}: {os.strerror(error.errno)}; choose another with --listen"
    return f"cannot serve {directory}: {error}; mend that or choose another directory with --dir"


def _announce(directory: Path, address: str, pid: int) -> None:
    click.echo(f"Ingot serves {address} (pid {pid})")
    click.echo(f"  export KUBECONFIG={directory / 'kubeconfig'}")
