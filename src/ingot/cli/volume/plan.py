"""A new DataVolume from what was said on a command line."""

from typing import TYPE_CHECKING

import click

from ingot.api.cdi.names import IMMEDIATE
from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.cli.volume.options import Target

if TYPE_CHECKING:
    from ingot.cli.connection import Session


def manifest(name: str, namespace: str, source: Object, target: Target) -> Object:
    """The DataVolume. Whoever makes one by a command waits for it: it is filled before anything uses it."""
    storage: Object = {}
    if target.size:
        storage["resources"] = {"requests": {"storage": target.size}}
    if target.storage_class:
        storage["storageClassName"] = target.storage_class
    if target.mode:
        storage["volumeMode"] = target.mode
    spec: Object = {"source": source, "storage": storage}
    if target.preallocate:
        spec["preallocation"] = True
    return {
        "apiVersion": DATA_VOLUMES.api_version,
        "kind": DATA_VOLUMES.kind,
        "metadata": {"name": name, "namespace": namespace, "annotations": {IMMEDIATE: "true"}},
        "spec": spec,
    }


async def create(session: "Session", wanted: Object) -> Object:
    """Makes the DataVolume. Raises ClickException with what is wrong and what to do."""
    from ingot.cli.manifest import Manifest, Place
    from ingot.cli.refusal import refusal

    name = name_of(wanted)
    # A DataVolume would wait until the claim of its name is gone.
    if await found(session, VOLUME_CLAIMS, name) is not None:
        raise _taken(name)
    try:
        return await session.client.create(DATA_VOLUMES, wanted)
    except ApiError as error:
        if error.reason == "AlreadyExists":
            raise _taken(name) from error
        if error.reason != "Invalid":
            raise
        raise click.ClickException(f"{name}: {refusal(Manifest(wanted, Place(name)), error)}") from error


async def found(session: "Session", resource: Resource, name: str) -> Object | None:
    """The object of that name in the session's namespace, if there is one."""
    try:
        return await session.client.get(resource, name, session.namespace)
    except ApiError as error:
        if error.reason != "NotFound":
            raise
        return None


def _taken(name: str) -> click.ClickException:
    why = f"there is a volume {name} already; choose another NAME, or remove it: ingot volume rm {name}"
    return click.ClickException(why)
