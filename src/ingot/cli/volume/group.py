"""`ingot volume`: disks that are imported, uploaded, cloned and kept."""

import click

from ingot.cli.main import LazyGroup

COMMANDS = {
    "import": "ingot.cli.volume.importing:import_",
    "upload": "ingot.cli.volume.upload:upload",
    "clone": "ingot.cli.volume.clone:clone",
    "blank": "ingot.cli.volume.blank:blank",
    "ls": "ingot.cli.volume.ls:ls",
    "watch": "ingot.cli.volume.watch:watch",
    "snapshot": "ingot.cli.volume.snapshot:snapshot",
    "restore": "ingot.cli.volume.restore:restore",
    "rm": "ingot.cli.volume.rm:rm",
}

_EXAMPLE = "Example: ingot volume import docker://quay.io/containerdisks/fedora:latest fedora"


@click.group(cls=LazyGroup, places=COMMANDS, epilog=_EXAMPLE)
def volume() -> None:
    """Volumes with disks in them: import, upload, clone, watch and remove them."""
