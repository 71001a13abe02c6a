"""The API server that a command talks to: which kubeconfig, context and namespace, and a session with it."""

import functools
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ingot.cli.directory import default_directory

if TYPE_CHECKING:
    from ingot.kube.client import Client
    from ingot.kube.discovery import Discovery
    from ingot.kube.kubeconfig import Config


@dataclass(frozen=True, slots=True)
class Connection:
    """What the user said about it; empty strings for what was not said."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    all_namespaces: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """A client and what it is used for. `namespace` is the one that namespaced kinds are looked for in."""

    client: "Client"
    discovery: "Discovery"
    namespace: str
    all_namespaces: bool
    namespace_given: bool

    @property
    def scope(self) -> str:
        """The namespace for lists: empty for all."""
        return "" if self.all_namespaces else self.namespace


def connection_options(
    *, all_namespaces: bool = False, namespace: str = "", namespace_help: str = "Namespace, if not the context's own."
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the options to a command, and hands them to it as one argument `connection`.

    `namespace` is the one that counts where none is given, in place of the context's own.
    """
    chosen = click.option(
        "--namespace", "-n", default=namespace, show_default=bool(namespace), metavar="NAME", help=namespace_help
    )
    every = [click.option("--all-namespaces", "-A", is_flag=True, help="In every namespace.")] if all_namespaces else []

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapped(
            *args: Any, kubeconfig: str, context: str, namespace: str, all_namespaces: bool = False, **options: Any
        ) -> None:
            connection = Connection(kubeconfig, context, namespace, all_namespaces)
            command(*args, connection=connection, **options)

        for option in reversed([*_SERVER, chosen, *every]):
            wrapped = option(wrapped)
        return wrapped

    return decorate


_SERVER = [
    click.option(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="How to reach the API server. Without it: $KUBECONFIG, else the server that `ingot up` has started, "
        "else ~/.kube/config.",
    ),
    click.option("--context", default="", metavar="NAME", help="Context in the kubeconfig, if not its current one."),
]


def find_kubeconfig(given: str, env: Mapping[str, str], directory: Path) -> str:
    """The file to use; empty when $KUBECONFIG, ~/.kube/config or the pod's service account is to say."""
    if given or env.get("KUBECONFIG"):
        return given
    from ingot.standalone.process import running

    return str(directory / "kubeconfig") if running(directory) else ""


def load_config(connection: Connection, env: Mapping[str, str] = os.environ) -> tuple["Config", str]:
    """The server and user to use, and where that is written. Raises ClickException when nothing says so."""
    from ingot.kube.kubeconfig import ConfigError, load

    directory = default_directory()
    path = find_kubeconfig(connection.kubeconfig, env, directory)
    source = path or env.get("KUBECONFIG", "") or "~/.kube/config"
    try:
        return load(path, connection.context), source
    except ConfigError as error:
        if path or env.get("KUBECONFIG") or Path("~/.kube/config").expanduser().exists():
            raise click.ClickException(str(error)) from error
        raise click.ClickException(
            f"no API server is known: none runs in {directory}, and there is no ~/.kube/config.\n"
            "Start one with `ingot up --detach`, or name the kubeconfig of another with --kubeconfig."
        ) from error


@asynccontextmanager
async def session(connection: Connection, config: "Config") -> AsyncIterator[Session]:
    from ingot.kube.client import Client
    from ingot.kube.discovery import Discovery

    said: set[str] = set()

    def warn(text: str) -> None:
        if text not in said:
            said.add(text)
            click.echo(f"Warning: {text}", err=True)

    async with Client.connect(config, user_agent="ingot-cli", on_warning=warn) as client:
        yield Session(
            client,
            Discovery(client),
            connection.namespace or config.namespace,
            connection.all_namespaces,
            bool(connection.namespace),
        )


def run(connection: Connection, work: Callable[[Session], Awaitable[int]]) -> None:
    """Do `work` in a session and leave with the exit code that it returns; failures become one clear message."""
    config, source = load_config(connection)

    async def main() -> int:
        async with session(connection, config) as opened:
            return await work(opened)

    import asyncio

    from ingot.api.status import ApiError
    from ingot.cli.failure import explain, explain_connection
    from ingot.kube.kubeconfig import ConfigError
    from ingot.kube.transport import ConnectionFailed

    try:
        code = asyncio.run(main())
    except ConnectionFailed as error:
        raise click.ClickException(explain_connection(error, source)) from error
    except ApiError as error:
        raise click.ClickException(explain(error)) from error
    except ConfigError as error:
        raise click.ClickException(f"{error} (named by {source})") from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    if code:
        raise SystemExit(code)
