"""`ingot vm run`: from a disk to a running guest."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.api.object import name_of, namespace_of
from ingot.cli.connection import Connection, connection_options
from ingot.cli.connection import run as in_session
from ingot.cli.duration import timeout_option
from ingot.cli.output import output_option, show
from ingot.cli.vm.image import COPY_MODES, FORMATS

if TYPE_CHECKING:
    from ingot.api.object import Object
    from ingot.cli.connection import Session
    from ingot.cli.vm.image import Image

MEMORY = "512Mi"


@click.command(epilog="Example: ingot vm run debian-12.raw --name web --memory 1Gi --disk empty:10Gi --console")
@click.argument("image", required=False, metavar="[IMAGE]")
@click.option("--filename", "-f", "file", metavar="FILE|-", help="A manifest with the machine, in place of IMAGE.")
@click.option("--name", default="", help="Its name; without it, after the image.")
@click.option("--memory", default="", metavar="SIZE", help=f"Memory of the guest; without it, {MEMORY}.")
@click.option("--cpus", type=click.IntRange(1, 512), help="CPUs of the guest; without it, 1.")
@click.option("--disk", "more", multiple=True, metavar="IMAGE", help="One more disk; may be repeated.")
@click.option("--cdrom", "media", multiple=True, metavar="IMAGE", help="One more, in a CD-ROM drive; may be repeated.")
@click.option("--copy", type=click.Choice(COPY_MODES), help="Whether IMAGE itself is used, or a copy of it.")
@click.option("--usage", default="", metavar="TYPE", help="The node's storage for the copy, if not its default one.")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="What is at an address; without it, by its suffix.")
@click.option(
    "--user-data",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A file for cloud-init in the guest.",
)
@connection_options()
@click.option("--wait", is_flag=True, help="Return when it runs.")
@click.option("--console", "attach", is_flag=True, help="Open its console when it runs.")
@timeout_option("5m", "How long to wait until it runs.")
@output_option("text", "json", "yaml")
def run(
    image: str | None,
    file: str | None,
    name: str,
    memory: str,
    cpus: int | None,
    more: tuple[str, ...],
    media: tuple[str, ...],
    copy: str | None,
    usage: str,
    kind: str | None,
    user_data: Path | None,
    connection: Connection,
    wait: bool,
    attach: bool,
    timeout: float,
    output: str,
) -> None:
    """Make a machine and start it.

    IMAGE is a disk file (raw, or an .iso), an address (nbd://, nbds://, iscsi://, rbd://, gluster://, http://,
    https://), golden:NAME, pvc:NAME or empty:SIZE. Files and addresses stay as they are: the guest's writes go to an
    overlay on this machine, unless --copy says otherwise. After a comma may follow copy=MODE, format=FORMAT,
    usage=TYPE and target=cdrom, for --disk too.

    Of a golden image the machine gets a clone of its own, as large as after ,size=SIZE. In a CD-ROM drive, and below a
    copy, one volume of it is shared by all machines of the namespace.
    """
    if bool(image) == bool(file):
        raise click.UsageError("say what to run: IMAGE, or -f FILE")
    if file and (name or memory or cpus or more or media or copy or usage or kind or user_data):
        raise click.UsageError("-f FILE says it all: --name, --memory, --disk and the like are for IMAGE")
    more = (*more, *(f"{each},target=cdrom" for each in media))
    images = _images(image, more, copy or "", usage, kind or "") if image else []
    seed = user_data.read_text() if user_data else ""

    async def work(session: "Session") -> int:
        from ingot.cli.vm.blueprint import Blueprint, name_from
        from ingot.cli.vm.goals import until_running
        from ingot.cli.vm.golden import arrange, share

        if file:
            made = await _from_file(session, file)
            session = replace(session, namespace=namespace_of(made))
        else:
            chosen = name or name_from(images[0].title)
            disks, shared = await arrange(session, images)
            plan = Blueprint(chosen, session.namespace, disks, cpus or 1, memory or MEMORY, seed)
            made = await _create(session, plan.manifest())
            for each in shared:
                await share(session, each, made)
        if output == "text":
            click.echo(f"{name_of(made)} created")
        else:
            show(made, output)
        if not (wait or attach):
            return 0
        code = await until_running(session, [name_of(made)], timeout)
        if code or not attach:
            return code
        from ingot.cli.vm.talk import Ending, talk

        return await talk(session, name_of(made), Ending())

    in_session(connection, work)


def _images(image: str, more: tuple[str, ...], copy: str, usage: str, kind: str) -> "list[Image]":
    from ingot.cli.vm.image import read_image, read_wish

    first = read_wish(image)
    first = replace(first, copy=copy or first.copy, usage=usage or first.usage, format=kind or first.format)
    return [read_image(first), *(read_image(read_wish(each)) for each in more)]


async def _create(session: "Session", manifest: "Object") -> "Object":
    from ingot.api.resources import MACHINES
    from ingot.api.status import ApiError
    from ingot.cli.manifest import Manifest, Place
    from ingot.cli.refusal import refusal

    try:
        return await session.client.create(MACHINES, manifest)
    except ApiError as error:
        name = name_of(manifest)
        if error.reason == "AlreadyExists":
            why = (
                f"there is a machine {name} already; choose another name with --name, or remove it: ingot vm rm {name}"
            )
            raise click.ClickException(why) from error
        if error.reason != "Invalid":
            raise
        raise click.ClickException(f"{name}: {refusal(Manifest(manifest, Place(name)), error)}") from error


async def _from_file(session: "Session", file: str) -> "Object":
    """Applies all of a manifest, and starts the one machine in it."""
    from ingot.api.resources import MACHINES
    from ingot.cli.applying import Applier, in_namespace
    from ingot.cli.manifest import Manifest, ManifestError, read
    from ingot.cli.vm.found import find

    found = list(read([file]))
    for each in found:
        if isinstance(each, ManifestError):
            raise click.ClickException(str(each))
    manifests = [each for each in found if isinstance(each, Manifest)]
    machines = [each for each in manifests if each.obj["kind"] in ("VirtualMachine", "VirtualMachineInstance")]
    if len(machines) != 1:
        said = "no machine" if not machines else f"{len(machines)} machines"
        raise click.ClickException(
            f"{Path(file)} has {said}, and one VirtualMachine or VirtualMachineInstance is needed; "
            "for others there is `ingot apply -f`"
        )
    async for result in Applier(session, dry_run=False, force=False).apply(manifests):
        if result.problem:
            raise click.ClickException(f"{result.place}: {result.problem}")
    applied = in_namespace(machines[0], MACHINES, session)
    session = replace(session, namespace=namespace_of(applied))
    made = (await find(session, name_of(applied))).any
    if made["kind"] == "VirtualMachine":
        made = await _started(session, made)
    return made


async def _started(session: "Session", machine: "Object") -> "Object":
    """A machine that its manifest leaves halted is to run now, for that is what was asked for."""
    from ingot.cli.vm.acts import MACHINES, act

    spec = machine["spec"]
    if spec.get("runStrategy") in ("Halted", "Manual") or spec.get("running") is False:
        await act(session, MACHINES, name_of(machine), "start", {})
    return machine
