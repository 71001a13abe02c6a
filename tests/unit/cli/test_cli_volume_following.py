"""What is followed by `ingot volume watch`: DataVolumes, and claims that a populator fills without one."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, cast

import click
import pytest

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES, VOLUME_CLAIMS
from ingot.cli.volume.board import Board
from ingot.cli.volume.claim import as_volume
from ingot.cli.volume.following import Following
from ingot.cli.volume.ls import _row
from ingot.cli.volume.state import line, phase_of
from ingot.kube.watch import WatchEvent

if TYPE_CHECKING:
    from ingot.cli.connection import Session

KINDS = (DATA_VOLUMES, VOLUME_CLAIMS)
MIB = 1 << 20
HALF = {names.POD_PHASE: "Running", names.PROGRESS: json.dumps({"done": MIB, "total": 2 * MIB, "rate": MIB})}


def a_claim(name: str, told: dict[str, str], *, bound: bool = False, owner: str = "", **spec: Any) -> Object:
    owners = [{"kind": owner, "name": name, "uid": "u", "controller": True}] if owner else []
    reference = {"apiGroup": names.GROUP, "kind": "VolumeImportSource", "name": "source"}
    metadata = {"name": name, "namespace": "ns", "annotations": told, "ownerReferences": owners}
    volume = {"volumeName": "pv"} if bound else {}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {**metadata, "creationTimestamp": "2023-11-14T22:13:20Z"},
        "spec": {"dataSourceRef": reference, **volume, **spec},
        "status": {"phase": "Bound" if bound else "Pending"},
    }


def a_volume(name: str, phase: str) -> Object:
    return {"kind": "DataVolume", "metadata": {"name": name, "namespace": "ns"}, "status": {"phase": phase}}


class Server:
    """What is there at first, and what changes then."""

    def __init__(self, *there: Object, changes: tuple[WatchEvent, ...] = ()) -> None:
        self._there, self._changes = there, changes
        self.client, self.scope, self.namespace, self.all_namespaces = self, "ns", "ns", False

    async def list(self, kind: Resource, _scope: str) -> Object:
        items = [each for each in self._there if each["kind"] == kind.kind]
        return {"items": items, "metadata": {"resourceVersion": "1"}}

    async def watch(self, kind: Resource, *_: Any, **__: Any) -> AsyncGenerator[WatchEvent, None]:
        for each in self._changes:
            if each.object["kind"] == kind.kind:
                yield each
        await asyncio.Event().wait()

    async def follow(self, *wanted: str) -> dict[str, Object]:
        return await Following(cast("Session", self), wanted, Board(), kinds=KINDS).run(5)


def test_a_claim_that_is_filled_has_a_bar_and_the_words_of_a_volume() -> None:
    claim = a_claim("w", HALF)
    assert line(as_volume(claim)).startswith("ImportInProgress [############")
    row = _row("ns", "w", None, claim)
    assert (row["phase"], row["progress"]) == ("ImportInProgress", "50.00%")
    assert phase_of(as_volume(a_claim("w", {}, bound=True))) == "Succeeded"


def test_a_claim_that_was_given_a_foreign_volume_has_failed() -> None:
    told = {names.FAILURE: json.dumps({"reason": names.FOREIGN_VOLUME, "message": "another's"})}
    assert line(as_volume(a_claim("w", told, bound=True))) == "Failed: another's"


@pytest.mark.parametrize("wanted", [(), ("w",)])
async def test_claims_are_followed_until_they_are_filled(
    wanted: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    done = WatchEvent("MODIFIED", a_claim("w", {names.POD_PHASE: "Succeeded"}, bound=True))
    hidden = a_claim("prime-u", {names.PRIME_FOR: "ns/w"}, dataSourceRef=None)
    owned, plain = a_claim("d", HALF, owner="DataVolume"), a_claim("p", {}, dataSourceRef=None)
    found = await Server(a_claim("w", HALF), owned, hidden, plain, changes=(done,)).follow(*wanted)
    assert {name: phase_of(each) for name, each in found.items()} == {"w": "Succeeded"}
    assert "w: ImportInProgress [############" in capsys.readouterr().err


async def test_a_data_volume_goes_before_a_claim_of_its_name() -> None:
    found = await Server(a_volume("w", "Succeeded"), a_claim("w", HALF)).follow("w")
    assert found["w"]["kind"] == "DataVolume"


async def test_a_claim_that_nobody_fills_is_there_for_who_names_it() -> None:
    found = await Server(a_claim("p", {}, bound=True, dataSourceRef=None)).follow("p")
    assert phase_of(found["p"]) == "Succeeded"


async def test_what_was_never_there_has_not_gone() -> None:
    with pytest.raises(click.ClickException, match=r"^there is no volume w in namespace ns$"):
        await Server().follow("w")
    gone = WatchEvent("DELETED", a_claim("w", HALF))
    with pytest.raises(click.ClickException, match=r"^there is no volume w in namespace ns any more$"):
        await Server(a_claim("w", HALF), changes=(gone,)).follow("w")
