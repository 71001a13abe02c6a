"""Pods that look how large an image is: so many at a time, and only those that a DataVolume has."""

from typing import Any, cast

import pytest

from ingot.api.cdi.names import COMPONENT, TRANSFER
from ingot.api.object import Object
from ingot.api.resources import DATA_VOLUMES
from ingot.api.status import ApiError
from ingot.control.volumes.detection import Detection
from ingot.control.volumes.fault import VolumeFault
from ingot.control.volumes.gate import TRANSFERS, gate_of
from ingot.kube.cache import key_of
from ingot.kube.client import Client
from ingot.kube.clock import ManualClock
from ingot.kube.manager import Manager
from unit.control.population import BORN, NOW, fill, target


class Made:
    """A client that remembers which pods were asked for, and has what events say of others."""

    def __init__(self, *warnings: str) -> None:
        self.pods: list[Object] = []
        self.warnings = warnings

    async def list(self, *_: Any, **__: Any) -> Object:
        return {"items": [{"message": each, "metadata": {}} for each in self.warnings]}

    async def create(self, _: Any, pod: Object) -> Object:
        self.pods.append(pod)
        return pod


def _volume(name: str) -> Object:
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}"}
    return {"apiVersion": DATA_VOLUMES.api_version, "kind": DATA_VOLUMES.kind, "metadata": metadata, "spec": {}}


def _pod(volume: Object, **metadata: Any) -> Object:
    owner = {"kind": volume["kind"], "name": volume["metadata"]["name"], "uid": volume["metadata"]["uid"]}
    own = {"name": f"size-detection-{volume['metadata']['uid']}", "namespace": "ns", "labels": {TRANSFER: "true"}}
    return {
        "metadata": {**own, "ownerReferences": [{**owner, "controller": True}], **metadata},
        "spec": {},
        "status": {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]},
    }


async def _begun(*pods: Object) -> bool:
    """Whether one more begins to look, where those pods are there."""
    client = Made()
    manager = Manager(cast("Client", client))
    detection = Detection(manager)
    fill(manager.informer(DATA_VOLUMES).cache, *(_volume(str(index)) for index in range(TRANSFERS)))
    fill(detection.pods.cache, *pods)
    assert len({key_of(pod) for pod in pods}) == TRANSFERS
    with pytest.raises(VolumeFault) as caught:
        await detection.size(_volume("new"), {"http": {"url": "http://far/disk"}})
    assert caught.value.reason == "SizeDetectionPodNotReady"
    return bool(client.pods)


async def test_so_many_look_at_the_same_time() -> None:
    assert not await _begun(*(_pod(_volume(str(index))) for index in range(TRANSFERS)))


@pytest.mark.parametrize("liars", [{"namespace": "other"}, {"ownerReferences": []}])
async def test_pods_that_only_say_that_they_look_keep_nobody_waiting(liars: dict[str, Any]) -> None:
    assert await _begun(*(_pod(_volume(str(index)), **liars) for index in range(TRANSFERS)))


async def test_pods_that_cannot_start_or_wait_to_start_again_keep_nobody_waiting() -> None:
    """As where a Secret is missing, or a server is away."""
    pods = [_pod(_volume(str(index)), creationTimestamp="2000-01-01T00:00:00Z") for index in range(TRANSFERS)]
    for pod in pods[:2]:
        pod["status"] = {"phase": "Pending"}
    for pod in pods[2:]:
        pod["status"]["containerStatuses"] = [{"state": {"waiting": {}}, "restartCount": 3, "lastState": {}}]
    assert await _begun(*pods)


@pytest.mark.parametrize(
    "why",
    [
        "volume 'secret': Secret ns/nosuch is not there; create it",
        'MountVolume.SetUp failed for volume "certs" : configmap "nosuch" not found',
    ],
)
async def test_what_keeps_its_pod_from_starting_is_told_and_others_go_on(why: str) -> None:
    """As where the size was said: a Secret or ConfigMap that is not there."""
    manager = Manager(cast("Client", Made(why)))
    clock = ManualClock(NOW + 3)
    detection, volume = Detection(manager, clock), _volume("0")
    pod = _pod(volume, uid="uid-pod", creationTimestamp=BORN)
    pod["status"] = {"phase": "Pending"}
    fill(manager.informer(DATA_VOLUMES).cache, volume)
    fill(detection.pods.cache, pod)
    gate = gate_of(manager)
    assert [gate.admit(target(str(index))) for index in range(TRANSFERS)] == [0] * (TRANSFERS - 1) + [1]
    with pytest.raises(VolumeFault) as caught:
        await detection.size(volume, {"http": {"url": "http://far/disk"}})
    assert caught.value.message == why
    assert caught.value.retry
    assert gate.admit(target(str(TRANSFERS - 1))) == 0


async def test_how_often_its_pod_was_started_again_is_told() -> None:
    detection, volume = Detection(Manager(cast("Client", Made()))), _volume("0")
    pod = _pod(volume)
    words = '{"reason": "NotFound", "message": "404", "retry": false}'
    pod["status"]["containerStatuses"] = [{"restartCount": 2, "lastState": {"terminated": {"message": words}}}]
    fill(detection.pods.cache, pod)
    with pytest.raises(VolumeFault) as caught:
        await detection.size(volume, {"http": {"url": "http://far/disk"}})
    assert (caught.value.reason, caught.value.restarts) == ("NotFound", 2)


class Taken:
    """A client of a server where the name is taken, by a pod that no cache has."""

    def __init__(self, pod: Object | None) -> None:
        self.pod = pod

    async def create(self, *_: Any) -> Object:
        raise ApiError(409, "AlreadyExists", "there is one")

    async def get(self, *_: Any) -> Object:
        if self.pod is None:
            raise ApiError(404, "NotFound", "it has just gone")
        return self.pod


LABELS = {COMPONENT: "size-detection", TRANSFER: "true"}


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"labels": LABELS, "ownerReferences": []}, "NameTaken"),
        ({"labels": {TRANSFER: "true"}}, "NameTaken"),
        ({"labels": {COMPONENT: "size-detection"}}, "NameTaken"),
        ({"labels": LABELS, "deletionTimestamp": BORN}, "LeftoverEnding"),
        (None, "LeftoverEnding"),
    ],
    ids=["another's", "not followed", "not counted", "ending", "gone"],
)
async def test_one_whose_pod_s_name_is_taken_says_so_and_keeps_nobody_waiting(
    metadata: dict[str, Any] | None, reason: str
) -> None:
    """Four pods of such names, made by a tenant, stopped all transfers of a cluster."""
    volume = _volume("0")
    manager = Manager(cast("Client", Taken(None if metadata is None else _pod(volume, **metadata))))
    detection, gate = Detection(manager), gate_of(manager)
    with pytest.raises(VolumeFault) as caught:
        await detection.size(volume, {"http": {"url": "http://far/disk"}})
    assert caught.value.reason == reason
    assert 'pod "ns/size-detection-uid-0"' in caught.value.message
    assert caught.value.retry
    assert [gate.admit(target(str(index))) for index in range(TRANSFERS)] == [0] * TRANSFERS


async def test_one_whose_pod_is_not_known_yet_keeps_its_place() -> None:
    volume = _volume("0")
    manager = Manager(cast("Client", Taken(_pod(volume, labels=LABELS))))
    detection, gate = Detection(manager), gate_of(manager)
    with pytest.raises(VolumeFault) as caught:
        await detection.size(volume, {"http": {"url": "http://far/disk"}})
    assert caught.value.reason == "SizeDetectionPodNotReady"
    assert caught.value.retry
    assert [gate.admit(target(str(index))) for index in range(TRANSFERS)] == [0] * (TRANSFERS - 1) + [1]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [({"ownerReferences": []}, "NameTaken"), ({"deletionTimestamp": BORN}, "SizeDetectionPodNotReady")],
    ids=["another's", "ending"],
)
async def test_one_whose_pod_s_name_is_taken_by_one_that_is_known_has_no_place(
    metadata: dict[str, Any], reason: str
) -> None:
    """The cache hears of it after the place was given."""
    manager = Manager(cast("Client", Made()))
    detection, gate, volume = Detection(manager), gate_of(manager), _volume("0")
    assert gate.admit_look({**volume, "metadata": {**volume["metadata"], "creationTimestamp": BORN}}) == 0
    fill(detection.pods.cache, _pod(volume, **metadata))
    with pytest.raises(VolumeFault) as caught:
        await detection.size(volume, {"http": {"url": "http://far/disk"}})
    assert (caught.value.reason, bool(caught.value.retry)) == (reason, True)
    assert [gate.admit(target(str(index))) for index in range(TRANSFERS)] == [0] * TRANSFERS


async def test_it_is_looked_for_after_transfers_that_go_on() -> None:
    client = Made()
    manager = Manager(cast("Client", client))
    detection, gate = Detection(manager), gate_of(manager)
    assert [gate.admit(target(str(index))) for index in range(TRANSFERS)] == [0] * TRANSFERS
    for made in (0, 1):
        with pytest.raises(VolumeFault) as caught:
            await detection.size(_volume("new"), {"http": {"url": "http://far/disk"}})
        assert len(client.pods) == made
        assert ("number 1 in the queue" in caught.value.message) is not bool(made)
        gate.leave(key_of(target("0")))
