"""`ingot volume snapshot`: what a volume holds at one moment."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.duration import timeout_option
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot volume snapshot debian before-upgrade")
@click.argument("claim")
@click.argument("name")
@click.option("--snapshot-class", default="", metavar="NAME", help="If not the default class of the claim's storage.")
@connection_options()
@timeout_option("5m", "How long to wait until it can be used.")
@output_option("text", "json", "yaml")
def snapshot(claim: str, name: str, snapshot_class: str, connection: Connection, timeout: float, output: str) -> None:
    """Make a VolumeSnapshot NAME of CLAIM, and return when it can be restored.

    The claim may be in use where its storage shares blocks, as local volumes on XFS and btrfs do; elsewhere the
    snapshot of a local volume waits until nobody writes to it, and says so. One that is not ready in time stays, and
    becomes ready later.
    """

    async def work(session: "Session") -> int:
        from ingot.api.resources import SNAPSHOTS
        from ingot.cli.waiting import Deadline, NotMetError, Progress, wait_for

        deadline = Deadline(timeout)
        await session.client.create(SNAPSHOTS, _manifest(claim, name, session.namespace, snapshot_class))
        try:
            async with Progress(deadline) as progress:
                found = await wait_for(session, SNAPSHOTS, name, session.namespace, Usable(), deadline, progress, name)
        except NotMetError as error:
            message = (
                f"{error}\nIt becomes ready once that has passed; remove it with `ingot delete volumesnapshot {name}`."
            )
            raise click.ClickException(message) from error
        if output != "text":
            show(found, output)
        elif fault := _fault(found or {}):
            message = (
                f"{name} is not taken: {fault}\nRemove it with `ingot delete volumesnapshot {name}`, and try again."
            )
            raise click.ClickException(message)
        else:
            click.echo(f"{name} is ready; restore it with `ingot volume restore {name} NAME`")
        return 1 if _fault(found or {}) else 0

    run(connection, work)


def _manifest(claim: str, name: str, namespace: str, snapshot_class: str) -> Object:
    from ingot.api.resources import SNAPSHOTS

    spec: Object = {"source": {"persistentVolumeClaimName": claim}}
    if snapshot_class:
        spec["volumeSnapshotClassName"] = snapshot_class
    return {
        "apiVersion": SNAPSHOTS.api_version,
        "kind": SNAPSHOTS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def _fault(obj: Object) -> str:
    """Why it cannot be taken; "" where it is, or is tried again without anybody's help."""
    error = _error(obj)
    return "" if "tried again" in error else error


def _error(obj: Object) -> str:
    status = obj.get("status") or {}
    return "" if status.get("readyToUse") else str((status.get("error") or {}).get("message") or "")


@dataclass(frozen=True, slots=True)
class Usable:
    """A snapshot can be restored, or says why it cannot."""

    needs_object: bool = True

    def met(self, obj: Object | None) -> bool:
        return bool(obj and (((obj.get("status") or {}).get("readyToUse")) or _fault(obj)))

    def seen(self, obj: Object | None) -> str:
        return _error(obj) or "it is being taken" if obj else "it is gone"

    def __str__(self) -> str:
        return "readiness"
