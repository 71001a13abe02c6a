"""Which way a claim is cloned, and what is said of why (G10)."""

import pytest

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.control.snapshots.kinds import SnapshotKinds
from ingot.control.volumes.clone_strategy import (
    Choice,
    Circumstances,
    Strategy,
    choose,
    choose_in_use,
    choose_of_snapshot,
)
from ingot.control.volumes.filler import Hindered
from ingot.control.volumes.placement import node_of
from ingot.control.volumes.taken import Taken
from ingot.kube.cache import Cache, Key

LOCAL, FAR = names.LOCAL_PROVISIONER, "csi.example.com"


class Kinds(SnapshotKinds):
    """The VolumeSnapshotClasses of a cluster, by driver."""

    def __init__(self, **classes: str) -> None:
        self._classes = {driver.replace("_", "."): name for driver, name in classes.items()}

    def class_for(self, driver: str) -> tuple[str, str]:
        return (self._classes[driver], "") if driver in self._classes else ("", f"none for {driver}")


def storage_class(provisioner: str, strategy: str = "") -> Object:
    annotations = {names.CLONE_STRATEGY: strategy} if strategy else {}
    return {"metadata": {"name": "class", "annotations": annotations}, "provisioner": provisioner}


def node(shares: str) -> Object:
    return {"metadata": {"name": "here", "annotations": {names.SHARES_BLOCKS: shares} if shares else {}}}


def chosen(
    target: Object | None,
    origin: Object | None = None,
    *,
    on: Object | None = None,
    modes: tuple[str, str] = ("Filesystem", "Filesystem"),
    kinds: SnapshotKinds | None = None,
    preallocated: bool = False,
) -> Choice:
    claims = [{"spec": {"volumeMode": mode}} for mode in modes]
    seen = Circumstances(claims[0], claims[1], target, origin or target, on, preallocated)
    return choose(seen, kinds or Kinds())


def test_local_volumes_share_blocks_where_the_node_can() -> None:
    shared = chosen(storage_class(LOCAL), on=node("true"))
    assert shared.strategy is Strategy.CSI_CLONE
    assert 'node "here" share blocks' in shared.why
    copied = chosen(storage_class(LOCAL), on=node("false"))
    assert copied.strategy is Strategy.COPY
    assert "XFS" in copied.why
    assert chosen(storage_class(LOCAL)).strategy is Strategy.COPY


def test_a_node_that_has_not_said_is_waited_for() -> None:
    with pytest.raises(Hindered) as caught:
        chosen(storage_class(LOCAL), on=node(""))
    assert caught.value.step.again


def test_other_storage_is_cloned_by_snapshot_where_it_has_them() -> None:
    by_snapshot = chosen(storage_class(FAR), kinds=Kinds(csi_example_com="quick"))
    assert (by_snapshot.strategy, by_snapshot.snapshot_class) == (Strategy.SNAPSHOT, "quick")
    assert chosen(storage_class(FAR)) == Choice(Strategy.COPY, f"none for {FAR}")


@pytest.mark.parametrize("asked", list(Strategy))
def test_the_storage_class_has_the_last_word(asked: Strategy) -> None:
    made = chosen(storage_class(FAR, asked), kinds=Kinds(csi_example_com="quick"))
    assert made.strategy is asked
    assert names.CLONE_STRATEGY in made.why


def test_a_wish_that_cannot_be_fulfilled_is_said() -> None:
    made = chosen(storage_class(FAR, "snapshot"))
    assert made.strategy is Strategy.COPY
    assert "asks for snapshot, but none" in made.why
    assert chosen(storage_class(FAR, "nonsense")).strategy is Strategy.COPY


def test_storage_does_not_clone_by_itself_what_somebody_writes_to() -> None:
    seen = Circumstances({}, {}, storage_class(FAR, "csi-clone"), None, None)
    by_snapshot = choose_in_use(seen, Kinds(csi_example_com="quick"), 'pod "writer"')
    assert (by_snapshot.strategy, by_snapshot.snapshot_class) == (Strategy.SNAPSHOT, "quick")
    copied = choose_in_use(seen, Kinds(), 'pod "writer"')
    assert copied.strategy is Strategy.COPY
    assert f'while the source is in use by pod "writer", and none for {FAR}' in copied.why


def test_what_is_to_have_no_holes_is_copied() -> None:
    """Neither shared blocks nor snapshots put room aside, whatever a class asks for."""
    kinds = Kinds(csi_example_com="quick")
    for made in (
        chosen(storage_class(LOCAL), on=node("true"), preallocated=True),
        chosen(storage_class(FAR), kinds=kinds, preallocated=True),
        chosen(storage_class(FAR, "csi-clone"), kinds=kinds, preallocated=True),
        choose_of_snapshot({"spec": {}}, storage_class(FAR), Taken(FAR, "Filesystem"), preallocated=True),
    ):
        assert made.strategy is Strategy.COPY
        assert "preallocation is asked for" in made.why
    by_snapshot = choose_of_snapshot({"spec": {}}, storage_class(FAR), Taken(FAR, "Filesystem"), preallocated=False)
    assert by_snapshot.strategy is Strategy.SNAPSHOT


def test_what_differs_is_copied() -> None:
    for made, why in (
        (chosen(storage_class(LOCAL, "csi-clone"), storage_class(FAR)), f"by {FAR}, the target by {LOCAL}"),
        (chosen(storage_class(LOCAL), on=node("true"), modes=("Block", "Filesystem")), "volumeMode"),
        (chosen(None), "no StorageClass"),
    ):
        assert made.strategy is Strategy.COPY
        assert why in made.why


def test_the_node_of_a_volume() -> None:
    nodes = Cache()
    for name in ("one", "two"):
        labels = {"kubernetes.io/hostname": f"host-{name}"}
        nodes.put(Key("", name), {"metadata": {"name": name, "labels": labels}})

    def volume(*hosts: str) -> Object:
        wanted = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(hosts)}
        terms = [{"matchExpressions": [wanted]}]
        return {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}}

    assert (node_of(volume("host-two"), nodes) or {})["metadata"]["name"] == "two"
    assert node_of(volume("host-one", "host-two"), nodes) is None
    assert node_of(volume("gone"), nodes) is None
    assert node_of({"spec": {}}, nodes) is None
    assert node_of(None, nodes) is None
