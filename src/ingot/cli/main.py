"""The command `ingot`. Each subcommand is loaded when it is called, so that start-up stays quick."""

import importlib
from collections.abc import Mapping
from typing import Any

import click

# Subcommand → where its click command is: "module:function".
COMMANDS = {
    "up": "ingot.cli.up:up",
    "down": "ingot.cli.down:down",
    "status": "ingot.cli.status:status",
    "get": "ingot.cli.get:get",
    "describe": "ingot.cli.describe:describe",
    "apply": "ingot.cli.apply:apply",
    "delete": "ingot.cli.delete:delete",
    "wait": "ingot.cli.wait:wait",
    "vm": "ingot.cli.vm.group:vm",
    "volume": "ingot.cli.volume.group:volume",
    "template": "ingot.cli.template.group:template",
    "golden": "ingot.cli.golden.group:golden",
    "image": "ingot.cli.image.group:image",
    "serve": "ingot.cli.serve.group:serve",
    "machine": "ingot.cli.machine:machine",
    "agent": "ingot.cli.agent:agent",
    "web": "ingot.cli.web:web",
    "doctor": "ingot.cli.doctor:doctor",
    "controllers": "ingot.cli.controllers:controllers",
    "gateway": "ingot.cli.gateway:gateway",
    "webhook": "ingot.cli.webhook:webhook",
}
# For Ingot's own pods: they are not listed.
HIDDEN = {
    "worker": "ingot.cli.worker.group:worker",
}


class LazyGroup(click.Group):
    """A group whose commands are imported on first use: `places` says where each is, and `unlisted` where those are
    that are not shown."""

    def __init__(
        self, *arguments: Any, places: Mapping[str, str], unlisted: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self._places = places
        self._unlisted = unlisted or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = self._places.get(cmd_name) or self._unlisted.get(cmd_name)
        if place is None:
            return None
        module, _, function = place.partition(":")
        command = getattr(importlib.import_module(module), function)
        if not isinstance(command, click.Command):
            raise TypeError(f"{place} is not a click command")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except PermissionError as error:
            place = error.filename or "the operation"
            why = f"{place}: {error.strerror}; run this as the user who owns it, or as root"
            raise click.ClickException(why) from error


@click.group(cls=LazyGroup, places=COMMANDS, unlisted=HIDDEN, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ingot")
def cli() -> None:
    """Disks for virtual machines, on one machine or on Kubernetes."""


def main() -> None:
    cli(prog_name="ingot")
