"""Who counts as a writer to a claim: those before whom a copy of it waits (G10)."""

from typing import Any

import pytest

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.control.volumes.writers import Writers
from ingot.kube.cache import Cache, Key

CLAIM = {"metadata": {"name": "golden", "namespace": "ns"}}


class Server:
    """Answers with these pods."""

    def __init__(self, *pods: Object) -> None:
        self._pods = list(pods)

    async def list(self, _resource: Resource, _namespace: str) -> Object:
        return {"items": self._pods}


def writers(*pods: Object, instances: tuple[Object, ...] = ()) -> Writers:
    found = Writers.__new__(Writers)
    cache = Cache()
    for each in instances:
        cache.put(Key("ns", each["metadata"]["name"]), each)
    found._client, found._instances = Server(*pods), cache  # type: ignore[assignment]
    return found


def pod(*, phase: str = "Running", device: bool = False, **flags: Any) -> Object:
    claim = {"claimName": flags.get("claim", "golden"), **({"readOnly": True} if flags.get("volume_read_only") else {})}
    mount = {"name": "disk", **({"readOnly": True} if flags.get("mount_read_only") else {})}
    container = {"volumeDevices" if device else "volumeMounts": [mount]}
    source = {"ephemeral": {"volumeClaimTemplate": {}}} if flags.get("ephemeral") else {"persistentVolumeClaim": claim}
    spec = {"volumes": [{"name": "disk", **source}], "containers": []}
    place = flags.get("place", "containers")
    return {"metadata": {"name": "user"}, "spec": {**spec, place: [container]}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("found", "is_writer"),
    [
        (pod(), True),
        (pod(phase="Pending"), True),
        (pod(device=True), True),
        (pod(place="initContainers"), True),
        (pod(place="ephemeralContainers"), True),
        (pod(phase="Succeeded"), False),
        (pod(claim="other"), False),
        (pod(volume_read_only=True), False),
        (pod(mount_read_only=True), False),
    ],
)
async def test_a_pod(found: Object, is_writer: bool) -> None:
    assert await writers(found).of(CLAIM) == ('pod "user"' if is_writer else "")


@pytest.mark.parametrize("flags", [{}, {"device": True}, {"place": "ephemeralContainers"}])
async def test_a_pod_whose_claim_is_made_for_it(flags: Any) -> None:
    """A generic ephemeral volume: its claim is named after the pod and the volume."""
    claim = {"metadata": {"name": "user-disk", "namespace": "ns"}}
    found = writers(pod(ephemeral=True, **flags))
    assert await found.of(claim) == await found.users(claim) == await found.strangers(claim) == 'pod "user"'
    assert not await found.users(CLAIM)
    reader = writers(pod(ephemeral=True, mount_read_only=True, **flags))
    assert (await reader.of(claim), await reader.users(claim)) == ("", 'pod "user"')


@pytest.mark.parametrize("found", [pod(), pod(volume_read_only=True), pod(mount_read_only=True)])
async def test_a_pod_that_only_reads_has_the_claim_too(found: Object) -> None:
    assert await writers(found).users(CLAIM) == 'pod "user"'
    assert not await writers(found).users(CLAIM, but="user")


def instance(volume: Object, phase: str = "Running") -> Object:
    spec = {"volumes": [{"name": "disk", **volume}]}
    return {"metadata": {"name": "vm", "namespace": "ns"}, "spec": spec, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("found", "is_writer"),
    [
        (instance({"persistentVolumeClaim": {"claimName": "golden"}}), True),
        (instance({"dataVolume": {"name": "golden"}}), True),
        (instance({"persistentVolumeClaim": {"claimName": "golden"}}, "Failed"), False),
        (instance({"persistentVolumeClaim": {"claimName": "golden", "readOnly": True}}), False),
        (instance({"persistentVolumeClaim": {"claimName": "golden"}, "copy": {"mode": "copy-on-write"}}), False),
        (instance({"ephemeral": {"persistentVolumeClaim": {"claimName": "golden"}}}), False),
        (instance({"dataVolume": {"name": "other"}}), False),
    ],
)
async def test_a_machine_whose_disk_no_pod_has(found: Object, is_writer: bool) -> None:
    assert await writers(instances=(found,)).of(CLAIM) == ('VirtualMachineInstance "vm"' if is_writer else "")
