"""Golden images as disks of new machines: a clone for each, or one volume for all of a namespace that only read."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES
from ingot.api.status import ApiError
from ingot.cli.goal import Deleted
from ingot.cli.golden.found import no_such, place
from ingot.cli.vm.image import Golden, Image, is_shared
from ingot.cli.volume.options import Target
from ingot.cli.volume.plan import found, manifest
from ingot.cli.waiting import Deadline, NotMetError, Progress, wait_for
from ingot.kube.objects import add_owner_reference, condition, copy_of, is_deleting, is_true

if TYPE_CHECKING:
    from ingot.cli.connection import Session

# How long a volume that is on its way out may take to be gone.
_LEAVING_SECONDS = 60.0


async def arrange(session: "Session", images: Sequence[Image]) -> tuple[list[Image], list[Object]]:
    """The disks of a new machine, and the volumes that it shares with others: give each to `share` when it is made.

    Raises ClickException for a golden image that is not there, or cannot be cloned.
    """
    disks, shared = [], []
    for image in images:
        disk, volume = await _arranged(session, image)
        disks.append(disk)
        shared += [volume] if volume else []
    return disks, shared


async def _arranged(session: "Session", image: Image) -> tuple[Image, Object | None]:
    if image.golden is None:
        return image, None
    link = await _link(session, image.golden)
    if not is_shared(image):
        _tell(image.golden, link)
        return image, None
    if link is None or (at := place(link)) is None:
        raise click.ClickException(f"{_title(image.golden)} stands for no volume yet; `ingot golden ls` says why")
    field, namespace, name = at
    if field == "pvc" and namespace == session.namespace:
        return replace(image, golden=None, source={"persistentVolumeClaim": {"claimName": name}}), None
    wanted = manifest(name, session.namespace, {field: {"namespace": namespace, "name": name}}, Target())
    try:
        # What is refused is to be refused before there is a machine.
        await session.client.create(DATA_VOLUMES, wanted, dry_run=True)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
    return replace(image, golden=None, source={"dataVolume": {"name": name}}), wanted


async def _link(session: "Session", golden: Golden) -> Object | None:
    """Its DataSource; None for whom that is not shown, who may be allowed to clone it all the same."""
    try:
        link = await session.client.get(DATA_SOURCES, golden.name, golden.namespace)
    except ApiError as error:
        if error.reason == "Forbidden":
            return None
        if error.reason != "NotFound":
            raise
        raise await no_such(session, golden.name, golden.namespace) from error
    return link


def _tell(golden: Golden, link: Object | None) -> None:
    """That a machine waits, where it will."""
    if link and not is_true(link, "Ready"):
        why = (condition(link, "Ready") or {}).get("message") or "nobody has looked at it yet"
        click.echo(f"{_title(golden)} is not ready, and the machine waits for it: {why}", err=True)


def _title(golden: Golden) -> str:
    return f"golden image {golden.namespace}/{golden.name}"


async def share(session: "Session", wanted: Object, machine: Object) -> None:
    """The volume is there, and stays for as long as one of its machines does. Raises ClickException."""
    name, deadline = name_of(wanted), Deadline(_LEAVING_SECONDS)
    async with Progress(deadline) as progress:
        while True:
            there = await found(session, DATA_VOLUMES, name)
            try:
                if there and is_deleting(there):
                    goal = Deleted(uid_of(there))
                    await wait_for(session, DATA_VOLUMES, name, session.namespace, goal, deadline, progress, name)
                else:
                    await _own(session, there, wanted, machine)
                    return
            except NotMetError as error:
                raise click.ClickException(f"{error}; the machine waits for a volume of that name") from error
            except ApiError as error:
                # Another machine of the namespace was faster at the same.
                if error.code not in (404, 409):
                    raise


async def _own(session: "Session", there: Object | None, wanted: Object, machine: Object) -> None:
    """It is the machine's too."""
    if there is None:
        made = copy_of(wanted)
        add_owner_reference(made, machine)
        await session.client.create(DATA_VOLUMES, made)
        return
    if there["spec"].get("source") != wanted["spec"]["source"]:
        raise click.ClickException(
            f"there is a volume {name_of(wanted)} already, which is no clone of the golden image; remove it with "
            f"`ingot volume rm {name_of(wanted)}`, and make the machine anew"
        )
    add_owner_reference(there, machine)
    version, owners = there["metadata"]["resourceVersion"], there["metadata"]["ownerReferences"]
    change = {"metadata": {"resourceVersion": version, "ownerReferences": owners}}
    await session.client.patch(DATA_VOLUMES, name_of(wanted), change, session.namespace)
