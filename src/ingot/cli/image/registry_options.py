"""Options of commands that speak to registries."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ingot.images.registry.client import Registry
    from ingot.images.registry.manifest import Platform
    from ingot.images.registry.settings import Settings


@dataclass(frozen=True, slots=True)
class Access:
    """What the user has said of registries, over what files say."""

    auth_file: Path | None = None
    ca: Path | None = None
    insecure: tuple[str, ...] = ()

    def settings(self) -> "Settings":
        """Raises ImageFault."""
        from dataclasses import replace

        from ingot.images.registry.settings import Settings

        loaded = Settings.load()
        return replace(
            loaded,
            auth_files=(self.auth_file,) if self.auth_file else loaded.auth_files,
            ca=self.ca or loaded.ca,
            insecure=loaded.insecure | frozenset(self.insecure),
        )

    @contextmanager
    def client(self) -> "Iterator[Registry]":
        """A client for as long as the block lasts; an ImageFault in the block ends the command with its message."""
        from ingot.images.fault import ImageFault
        from ingot.images.registry.client import Registry

        try:
            with Registry(self.settings()) as registry:
                yield registry
        except ImageFault as fault:
            raise click.ClickException(str(fault)) from fault


def registry_options(command: Callable[..., None]) -> Callable[..., None]:
    """--auth-file, --ca and --insecure, given to the command as `access`."""

    @click.option(
        "--auth-file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Credentials: docker's config.json or podman's auth.json; without it, those of docker and podman.",
    )
    @click.option(
        "--ca",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Certificates in PEM to trust besides the machine's own.",
    )
    @click.option(
        "--insecure",
        multiple=True,
        metavar="HOST",
        help="This HOST or HOST:PORT may be without TLS; may be repeated.",
    )
    @wraps(command)
    def with_access(*, auth_file: Path | None, ca: Path | None, insecure: tuple[str, ...], **others: Any) -> None:
        command(access=Access(auth_file, ca, insecure), **others)

    return with_access


class PlatformType(click.ParamType["Platform"]):
    """OS/ARCHITECTURE."""

    name = "platform"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Platform":
        from ingot.images.fault import ImageFault
        from ingot.images.registry.platform import parse_platform

        try:
            return parse_platform(value)
        except ImageFault as fault:
            self.fail(str(fault), param, ctx)


def platform_option(command: Callable[..., None]) -> Callable[..., None]:
    """--platform, given to the command as `platform`; None for this machine's."""
    option = click.option(
        "--platform",
        type=PlatformType(),
        metavar="OS/ARCH",
        help="What the image must be for, such as linux/arm64; without it, of several the one for this machine.",
    )
    return option(command)
