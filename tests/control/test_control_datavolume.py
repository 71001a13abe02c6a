"""DataVolumes on a real API server, with populators that do what a test tells them (G1)."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from control.world import World
from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object, uid_of
from ingot.api.resources import (
    CLONE_SOURCES,
    DATA_SOURCES,
    DATA_VOLUMES,
    EVENTS,
    IMPORT_SOURCES,
    NAMESPACES,
    PODS,
    STORAGE_CLASSES,
    UPLOAD_SOURCES,
    VOLUME_CLAIMS,
)
from ingot.api.status import ApiError
from ingot.control.reach import Line
from ingot.control.volumes.datavolumes import DataVolumes
from ingot.control.volumes.progress import POLL_SECONDS
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, controller_of

IMAGE = {"http": {"url": "http://images.example/disk.qcow2"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.fixture
async def lab(bare: World) -> AsyncIterator[World]:
    """A namespace with DataVolumes' controller at work, and no populator; class `far` is somebody else's."""
    far = {"metadata": {"name": f"far-{bare.namespace}"}, "provisioner": "example.com/far"}
    await bare.client.create(STORAGE_CLASSES, far)
    manager, stop = Manager(bare.client), asyncio.Event()
    DataVolumes(manager, bare.clock)
    running = asyncio.create_task(manager.run(stop))
    yield bare
    stop.set()
    await running
    await bare.client.delete(STORAGE_CLASSES, f"far-{bare.namespace}")


def volume(source: Object | None = None, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    target = {} if "storage" in spec or "pvc" in spec else {"pvc": CLAIM}
    given = {} if "sourceRef" in spec else {"source": source or IMAGE}
    return {"metadata": {"name": "disk", "annotations": annotations or {}}, "spec": {**given, **target, **spec}}


async def in_phase(lab: World, phase: str, name: str = "disk") -> Object:
    return await lab.until(DATA_VOLUMES, name, lambda each: (each.get("status") or {}).get("phase") == phase)


async def annotate(lab: World, name: str = "disk", **told: str | None) -> None:
    """The populator: that is how far it is."""
    annotations = {getattr(names, key): text for key, text in told.items()}
    await lab.change(VOLUME_CLAIMS, name, {"metadata": {"annotations": annotations}})


async def fill(lab: World, name: str = "disk") -> None:
    """The populator: the claim has its volume, with all in it."""
    await lab.bind(name)
    await annotate(lab, name, POD_PHASE="Succeeded", RUNNING="false")


def ready(found: Object) -> Object:
    return condition(found, "Ready") or {}


async def test_an_import_from_the_first_to_the_last(lab: World) -> None:
    made = await lab.create(DATA_VOLUMES, volume())
    await in_phase(lab, "ImportScheduled")
    claim = await lab.get(VOLUME_CLAIMS, "disk")
    assert (controller_of(claim) or {})["uid"] == uid_of(made)
    reference = claim["spec"]["dataSourceRef"]
    assert reference["kind"] == "VolumeImportSource"
    source = await lab.get(IMPORT_SOURCES, reference["name"])
    assert source["spec"]["source"] == IMAGE
    assert (controller_of(source) or {})["uid"] == uid_of(made)

    reading = json.dumps({"done": 25, "total": 100, "rate": 5})
    await annotate(lab, POD_PHASE="Running", RUNNING="true", PROGRESS=reading, POD_RESTARTS="1")
    running = await in_phase(lab, "ImportInProgress")
    assert running["status"]["progress"] == "25.00%"
    assert running["status"]["transfer"] == {"done": 25, "total": 100, "bytesPerSecond": 5, "secondsLeft": 15}
    assert running["status"]["restartCount"] == 1
    assert ready(running)["reason"] == "TransferRunning"

    await fill(lab)
    done = await in_phase(lab, "Succeeded")
    assert done["status"]["progress"] == "100.0%"
    assert done["status"]["claimName"] == "disk"
    assert ready(done)["status"] == "True"
    assert "transfer" not in done["status"]
    await lab.gone(IMPORT_SOURCES, reference["name"])
    for reason in ("ImportScheduled", "ImportInProgress", "ImportSucceeded", "Pending", "Bound"):
        await lab.heard("disk", reason)


async def test_a_claim_that_binds_too_early_is_not_ready(lab: World) -> None:
    await lab.create(DATA_VOLUMES, volume())
    await in_phase(lab, "ImportScheduled")
    await lab.bind("disk")
    bound = await lab.until(DATA_VOLUMES, "disk", lambda each: (condition(each, "Bound") or {})["status"] == "True")
    assert bound["status"]["phase"] == "ImportScheduled"
    assert ready(bound)["status"] == "False"


async def test_an_upload(lab: World) -> None:
    await lab.create(DATA_VOLUMES, volume({"upload": {}}))
    await in_phase(lab, "UploadScheduled")
    reference = (await lab.get(VOLUME_CLAIMS, "disk"))["spec"]["dataSourceRef"]
    await lab.get(UPLOAD_SOURCES, reference["name"])
    await annotate(lab, POD_PHASE="Running", POD_READY="true")
    await in_phase(lab, "UploadReady")
    await fill(lab)
    await in_phase(lab, "Succeeded")
    await lab.heard("disk", "UploadReady")
    await lab.heard("disk", "UploadSucceeded")


async def golden(lab: World, name: str = "golden") -> Object:
    """A claim with a volume, to be cloned."""
    made = await lab.create(VOLUME_CLAIMS, {"metadata": {"name": name}, "spec": CLAIM})
    await lab.bind(name)
    return made


async def test_a_clone_is_as_large_as_its_source_and_waits_for_it(lab: World) -> None:
    source = {"pvc": {"namespace": lab.namespace, "name": "golden"}}
    storage = {"storageClassName": f"far-{lab.namespace}"}
    await lab.create(DATA_VOLUMES, volume(source, storage=storage))
    waiting = await in_phase(lab, "Pending")
    assert ready(waiting)["reason"] == "CloneWithoutSource"
    assert '"golden"' in ready(waiting)["message"]
    await golden(lab)
    await in_phase(lab, "CloneScheduled")
    claim = await lab.get(VOLUME_CLAIMS, "disk")
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi"
    made = await lab.get(CLONE_SOURCES, claim["spec"]["dataSourceRef"]["name"])
    assert made["spec"]["source"]["name"] == "golden"
    await annotate(lab, CLONE_TYPE="csi-clone")
    await in_phase(lab, "CSICloneInProgress")
    await fill(lab)
    await in_phase(lab, "Succeeded")
    await lab.heard("disk", "CloneSucceeded")


async def test_a_reference_is_followed_once_it_leads_somewhere(lab: World) -> None:
    """G10: it must when the DataVolume is made, as with CDI; what it leads to may come, and go, later."""
    spec = {
        "sourceRef": {"kind": "DataSource", "name": "fedora"},
        "storage": {"storageClassName": f"far-{lab.namespace}"},
    }
    assert await refusal(lab, volume(**spec)) == ("spec.sourceRef", "FieldValueNotFound")
    await lab.create(DATA_SOURCES, {"metadata": {"name": "fedora"}, "spec": {"source": {}}})
    assert await refusal(lab, volume(**spec)) == ("spec.sourceRef", "FieldValueInvalid")
    link = {"pvc": {"namespace": lab.namespace, "name": "golden"}}
    await lab.change(DATA_SOURCES, "fedora", {"spec": {"source": link}})
    await lab.create(DATA_VOLUMES, volume(**spec))
    await lab.until(DATA_VOLUMES, "disk", lambda each: ready(each).get("reason") == "CloneWithoutSource")
    await lab.change(DATA_SOURCES, "fedora", {"spec": {"source": {"pvc": None}}})
    await lab.until(DATA_VOLUMES, "disk", lambda each: ready(each).get("reason") == "DataSourceNotReady")
    astray = {"dataSource": {"namespace": "default", "name": "fedora"}}
    await lab.change(DATA_SOURCES, "fedora", {"spec": {"source": astray}})
    await lab.until(DATA_VOLUMES, "disk", lambda each: "of another namespace" in ready(each).get("message", ""))
    await golden(lab)
    await lab.change(DATA_SOURCES, "fedora", {"spec": {"source": {**link, "dataSource": None}}})
    await in_phase(lab, "CloneScheduled")


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"contentType": "archive", "pvc": CLAIM}, "spec.contentType: kubevirt is expected"),
        ({"pvc": {**CLAIM, "resources": {"requests": {"storage": "1Mi"}}}}, "spec.pvc.resources.requests.storage: 1Mi"),
    ],
)
async def test_a_clone_suits_a_source_that_is_there(lab: World, made: Object, why: str) -> None:
    """As CDI's webhook demands: both on one machine and by `ingot webhook`."""
    await golden(lab)
    wanted = volume({"pvc": {"namespace": lab.namespace, "name": "golden"}}, **made)
    with pytest.raises(ApiError, match=why):
        await lab.create(DATA_VOLUMES, wanted)
    assert await refusal(lab, wanted) == ("spec.source.pvc", "FieldValueInvalid")


async def refusal(lab: World, made: Object) -> tuple[str, str]:
    """Field and reason of the one fault for which it is refused."""
    with pytest.raises(ApiError) as caught:
        await lab.create(DATA_VOLUMES, made)
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    (cause,) = (caught.value.details or {})["causes"]
    return cause["field"], cause["reason"]


async def test_what_is_not_delivered_has_failed_at_once(lab: World) -> None:
    source = {"gcs": {"url": "gs://bucket/disk"}}
    await lab.create(DATA_VOLUMES, volume(source))
    failed = await in_phase(lab, "Failed")
    assert ready(failed)["reason"] == "SourceNotDelivered"
    assert "spec.source.gcs" in ready(failed)["message"]
    assert "final" in ready(failed)["message"]
    assert await lab.is_gone(VOLUME_CLAIMS, "disk")
    await lab.heard("disk", "SourceNotDelivered")


async def test_a_failure_is_final(lab: World) -> None:
    await lab.create(DATA_VOLUMES, volume())
    await in_phase(lab, "ImportScheduled")
    await annotate(lab, FAILURE=json.dumps({"reason": "NotFound", "message": "404; final"}))
    failed = await in_phase(lab, "Failed")
    assert ready(failed)["message"] == "404; final"
    await lab.heard("disk", "ImportFailed")
    await fill(lab)
    await lab.create(DATA_VOLUMES, {**volume(), "metadata": {"name": "other"}})
    await in_phase(lab, "ImportScheduled", "other")
    assert (await lab.get(DATA_VOLUMES, "disk"))["status"]["phase"] == "Failed"


async def test_a_claim_that_is_gone_is_made_and_filled_anew(lab: World) -> None:
    await lab.create(DATA_VOLUMES, volume())
    await in_phase(lab, "ImportScheduled")
    await fill(lab)
    await in_phase(lab, "Succeeded")
    first = await lab.get(VOLUME_CLAIMS, "disk")
    await lab.delete_claim("disk")

    async def another() -> bool:
        return uid_of(await lab.get(VOLUME_CLAIMS, "disk")) != uid_of(first)

    await eventually(another)
    await in_phase(lab, "ImportScheduled")
    again = await lab.get(VOLUME_CLAIMS, "disk")
    await lab.get(IMPORT_SOURCES, again["spec"]["dataSourceRef"]["name"])


async def test_a_volume_whose_claim_is_somebody_elses_is_refused(lab: World) -> None:
    """As by CDI's webhook."""
    await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "disk"}, "spec": CLAIM})
    with pytest.raises(ApiError) as caught:
        await lab.create(DATA_VOLUMES, volume())
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    assert f"Destination PVC {lab.namespace}/disk already exists" in caught.value.message
    assert names.ADOPT in caught.value.message
    (cause,) = (caught.value.details or {})["causes"]
    assert (cause["field"], cause["reason"]) == ("metadata.name", "FieldValueDuplicate")
    await lab.delete_claim("disk")
    await lab.create(DATA_VOLUMES, volume())
    await in_phase(lab, "ImportScheduled")


async def test_a_claim_of_somebody_else_is_left_alone(lab: World) -> None:
    """One that came between the DataVolume and its own claim."""
    origin = {"pvc": {"namespace": lab.namespace, "name": "golden"}}
    await lab.create(DATA_VOLUMES, volume(origin))
    await lab.until(DATA_VOLUMES, "disk", lambda each: ready(each).get("reason") == "CloneWithoutSource")
    theirs = await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "disk"}, "spec": CLAIM})
    told = await lab.until(DATA_VOLUMES, "disk", lambda each: ready(each).get("reason") == "ErrResourceExists")
    assert told["status"]["phase"] == "Pending"
    assert names.ADOPT in ready(told)["message"]
    assert controller_of(await lab.get(VOLUME_CLAIMS, "disk")) is None
    await lab.heard("disk", "ErrResourceExists")
    await lab.delete_claim("disk")
    await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "golden"}, "spec": CLAIM})
    await lab.bind("golden")
    await in_phase(lab, "CloneScheduled")
    assert uid_of(await lab.get(VOLUME_CLAIMS, "disk")) != uid_of(theirs)


async def test_a_claim_is_adopted_where_the_volume_says_so(lab: World) -> None:
    await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "disk"}, "spec": CLAIM})
    await lab.bind("disk")
    made = await lab.create(DATA_VOLUMES, volume(annotations={names.ADOPT: "true"}))
    done = await in_phase(lab, "Succeeded")
    assert done["status"]["progress"] == "100.0%"
    assert (controller_of(await lab.get(VOLUME_CLAIMS, "disk")) or {})["uid"] == uid_of(made)
    assert not (await lab.client.list(IMPORT_SOURCES, lab.namespace))["items"]


async def orphan(lab: World) -> None:
    """`kubectl delete dv disk --cascade=orphan`."""
    await lab.client.delete(DATA_VOLUMES, "disk", lab.namespace, propagation="Orphan")
    await lab.gone(DATA_VOLUMES, "disk")


async def test_a_claim_that_is_adopted_and_gets_no_volume_says_why(lab: World) -> None:
    spec = {**CLAIM, "storageClassName": f"late-{lab.namespace}"}
    held = await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "disk"}, "spec": spec})
    await lab.create(DATA_VOLUMES, volume(annotations={names.ADOPT: "true"}))

    def says(why: str) -> Callable[[Object], bool]:
        return lambda each: all(
            why in (condition(each, kind) or {}).get("message", "") for kind in ("Ready", "Running")
        )

    await lab.until(DATA_VOLUMES, "disk", says(f'StorageClass "late-{lab.namespace}" is not there'))
    late = {"metadata": {"name": f"late-{lab.namespace}"}, "provisioner": "example.com/late"}
    await lab.client.create(STORAGE_CLASSES, late)
    await lab.until(DATA_VOLUMES, "disk", lambda each: not ready(each).get("message"))
    event = {
        "metadata": {"name": f"full-{lab.namespace}"},
        "involvedObject": {
            "kind": VOLUME_CLAIMS.kind,
            "namespace": lab.namespace,
            "name": "disk",
            "uid": uid_of(held),
        },
        "reason": "ProvisioningFailed",
        "message": "the shelf is full",
        "type": "Warning",
    }
    await lab.create(EVENTS, event)
    await lab.until(DATA_VOLUMES, "disk", says("the shelf is full"))
    await lab.client.delete(STORAGE_CLASSES, f"late-{lab.namespace}")


async def adopted(lab: World, phase: str) -> Object:
    """A second DataVolume that takes the claim as its own, when it is in that phase."""
    made = await lab.create(DATA_VOLUMES, volume(annotations={names.ADOPT: "true"}))
    told = await in_phase(lab, phase)
    assert (controller_of(await lab.get(VOLUME_CLAIMS, "disk")) or {})["uid"] == uid_of(made)
    return told


async def test_a_claim_that_is_adopted_while_it_is_filled_is_ready_when_that_is_done(lab: World) -> None:
    await lab.create(DATA_VOLUMES, volume())
    await in_phase(lab, "ImportScheduled")
    reading = json.dumps({"done": 25, "total": 100, "rate": 5})
    await annotate(lab, POD_PHASE="Running", RUNNING="true", PROGRESS=reading)
    await in_phase(lab, "ImportInProgress")
    await orphan(lab)
    told = await adopted(lab, "ImportInProgress")
    assert (told["status"]["progress"], ready(told)["status"]) == ("25.00%", "False")
    await lab.bind("disk")
    bound = await lab.until(DATA_VOLUMES, "disk", lambda each: (condition(each, "Bound") or {})["status"] == "True")
    assert bound["status"]["phase"] == "ImportInProgress", "the populator has not said that it is the right volume"
    await annotate(lab, POD_PHASE="Succeeded", RUNNING="false")
    await in_phase(lab, "Succeeded")


async def test_a_claim_that_is_adopted_after_it_has_failed_has_failed(lab: World) -> None:
    await lab.create(DATA_VOLUMES, volume())
    await in_phase(lab, "ImportScheduled")
    await annotate(lab, FAILURE=json.dumps({"reason": "NotFound", "message": "404, final"}), POD_PHASE="Failed")
    await in_phase(lab, "Failed")
    await orphan(lab)
    assert ready(await adopted(lab, "Failed"))["reason"] == "NotFound"


async def test_a_claim_that_is_adopted_while_it_takes_an_upload_is_ready_when_that_is_done(lab: World) -> None:
    asked = {"name": "disk", "annotations": {names.UPLOAD_TARGET: ""}}
    await lab.create(VOLUME_CLAIMS, {"metadata": asked, "spec": CLAIM})
    await lab.bind("disk")
    assert ready(await adopted(lab, "Pending"))["status"] == "False"
    await annotate(lab, POD_PHASE="Succeeded")
    await in_phase(lab, "Succeeded")


async def test_a_claim_out_of_a_backup_that_waits_for_its_consumer_is_not_ready(lab: World) -> None:
    name = f"late-{lab.namespace}"
    late = {"metadata": {"name": name}, "provisioner": "example.com/far", "volumeBindingMode": "WaitForFirstConsumer"}
    await lab.client.create(STORAGE_CLASSES, late)
    restored = {"name": "disk", "annotations": {names.POPULATED_FOR: "disk"}}
    await lab.create(VOLUME_CLAIMS, {"metadata": restored, "spec": {**CLAIM, "storageClassName": name}})
    await lab.create(DATA_VOLUMES, volume())
    told = await in_phase(lab, "PendingPopulation")
    assert names.PRE_POPULATED not in told["metadata"].get("annotations", {})
    await lab.bind("disk")
    done = await in_phase(lab, "Succeeded")
    assert done["metadata"]["annotations"][names.PRE_POPULATED] == "disk"
    await lab.client.delete(STORAGE_CLASSES, name)


async def test_a_claim_out_of_a_backup_is_adopted_and_never_filled_anew(lab: World) -> None:
    annotations = {names.POPULATED_FOR: "disk"}
    await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "disk", "annotations": annotations}, "spec": CLAIM})
    await lab.bind("disk")
    await lab.create(DATA_VOLUMES, volume())
    done = await in_phase(lab, "Succeeded")
    assert done["metadata"]["annotations"][names.PRE_POPULATED] == "disk"
    await lab.delete_claim("disk")
    told = await lab.until(DATA_VOLUMES, "disk", lambda each: ready(each).get("reason") == "NotFound")
    assert told["status"]["phase"] == "Pending"
    assert await lab.is_gone(VOLUME_CLAIMS, "disk")


async def test_a_volume_that_is_to_go_when_it_is_done_leaves_its_claim(lab: World) -> None:
    owner = await lab.create(DATA_SOURCES, {"metadata": {"name": "owner"}, "spec": {"source": {}}})
    made = volume(annotations={names.DELETE_WHEN_DONE: "true"})
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "owner", "uid": uid_of(owner)}
    made["metadata"]["ownerReferences"] = [reference]
    await lab.create(DATA_VOLUMES, made)
    await in_phase(lab, "ImportScheduled")
    await fill(lab)
    await lab.gone(DATA_VOLUMES, "disk")
    claim = await lab.get(VOLUME_CLAIMS, "disk")
    assert [each["uid"] for each in claim["metadata"]["ownerReferences"]] == [uid_of(owner)]
    assert "deletionTimestamp" not in claim["metadata"]


async def test_a_delayed_class_waits_for_its_consumer(lab: World) -> None:
    name = f"late-{lab.namespace}"
    late = {"metadata": {"name": name}, "provisioner": "example.com/far", "volumeBindingMode": "WaitForFirstConsumer"}
    await lab.client.create(STORAGE_CLASSES, late)
    await lab.create(DATA_VOLUMES, volume(storage={**CLAIM, "storageClassName": name}))
    await in_phase(lab, "PendingPopulation")
    await annotate(lab, SELECTED_NODE="here")
    await in_phase(lab, "ImportScheduled")
    await lab.client.delete(STORAGE_CLASSES, name)


async def test_a_class_that_comes_later_is_waited_for(lab: World) -> None:
    name = f"soon-{lab.namespace}"
    await lab.create(DATA_VOLUMES, volume(storage={**CLAIM, "accessModes": [], "storageClassName": name}))
    told = await in_phase(lab, "Pending")
    assert ready(told)["reason"] == "ErrClaimNotValid"
    await lab.client.create(STORAGE_CLASSES, {"metadata": {"name": name}, "provisioner": "example.com/far"})
    await in_phase(lab, "ImportScheduled")
    claim = await lab.get(VOLUME_CLAIMS, "disk")
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert claim["metadata"]["labels"]["app"] == "containerized-data-importer"
    await lab.client.delete(STORAGE_CLASSES, name)


async def test_a_local_class_that_comes_later_does_not_make_it_wait(lab: World) -> None:
    """On a machine that has just been started, the class may come after the first volumes."""
    name = f"local-{lab.namespace}"
    await lab.create(DATA_VOLUMES, volume(pvc={**CLAIM, "storageClassName": name}))
    await in_phase(lab, "ImportScheduled")
    assert names.IMMEDIATE not in (await lab.get(VOLUME_CLAIMS, "disk"))["metadata"]["annotations"]
    local = {"provisioner": names.LOCAL_PROVISIONER, "volumeBindingMode": "WaitForFirstConsumer"}
    await lab.client.create(STORAGE_CLASSES, {"metadata": {"name": name}, **local})
    await lab.until(VOLUME_CLAIMS, "disk", lambda each: names.IMMEDIATE in each["metadata"]["annotations"])
    await in_phase(lab, "ImportScheduled")
    await lab.client.delete(STORAGE_CLASSES, name)


def unsized(lab: World) -> Object:
    return volume(storage={"storageClassName": f"far-{lab.namespace}", "volumeMode": "Block"})


async def looked(lab: World, message: str, **how: Any) -> None:
    """The kubelet: the pod that looks at the image has ended so."""
    pods = (await lab.client.list(PODS, lab.namespace))["items"]
    (pod,) = [each for each in pods if each["metadata"]["name"].startswith(names.SIZE_PREFIX)]
    state = {"terminated": {"exitCode": how.get("code", 0), "message": message}}
    worker = {"name": "worker", "state": state, "restartCount": how.get("restarts", 0)}
    status = {**worker, "ready": False, "image": "ingot", "imageID": ""}
    await lab.pod_status(pod, phase="Running" if how else "Succeeded", containerStatuses=[status])


async def pod_looks(lab: World) -> Object:
    async def look() -> Object | None:
        pods = (await lab.client.list(PODS, lab.namespace))["items"]
        return next(iter(pods), None)

    found = await eventually(look)
    assert found is not None
    return found


async def test_the_size_of_an_image_is_looked_for(lab: World) -> None:
    made = await lab.create(DATA_VOLUMES, unsized(lab))
    told = await in_phase(lab, "ImportScheduled")
    assert ready(told)["reason"] == "SizeDetectionPodNotReady"
    pod = await pod_looks(lab)
    assert (controller_of(pod) or {})["uid"] == uid_of(made)
    assert pod["spec"]["containers"][0]["args"][:2] == ["worker", "inspect"]
    assert names.TRANSFER in pod["metadata"]["labels"]
    await looked(lab, json.dumps({"virtualSize": 3 << 30, "format": "qcow2"}))

    async def claimed() -> Object:
        return await lab.get(VOLUME_CLAIMS, "disk")

    claim = await eventually(claimed)
    assert claim["spec"]["resources"]["requests"]["storage"] == "3Gi"
    await lab.gone_with_pod(PODS, pod["metadata"]["name"])
    await lab.until(DATA_VOLUMES, "disk", lambda each: not ready(each).get("reason"))


async def test_how_far_the_look_is_is_told(lab: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a disk in gzip all is read for its size."""

    async def told(_: Line) -> bytes:
        return b'{"done": 5, "total": 10, "rate": 1}'

    monkeypatch.setattr("ingot.control.volumes.progress._fetch", told)
    await lab.create(DATA_VOLUMES, unsized(lab))
    pod = await pod_looks(lab)
    worker = {"name": "worker", "image": "ingot", "imageID": "", "restartCount": 0, "ready": True}
    running = [{**worker, "state": {"running": {}}}]
    await lab.pod_status(pod, phase="Running", ready=True, podIP="10.1.2.3", containerStatuses=running)

    async def shown() -> bool:
        await lab.pass_time(POLL_SECONDS)
        status = (await lab.get(DATA_VOLUMES, "disk")).get("status") or {}
        transfer = {"done": 5, "total": 10, "bytesPerSecond": 1, "secondsLeft": 5}
        return (status.get("phase"), status.get("transfer")) == ("ImportScheduled", transfer)

    await eventually(shown)
    assert (await lab.get(DATA_VOLUMES, "disk"))["status"]["progress"] == "N/A", "it is none of the volume's"
    await looked(lab, json.dumps({"virtualSize": 3 << 30, "format": "raw"}))
    await lab.until(DATA_VOLUMES, "disk", lambda each: "transfer" not in each["status"])


async def test_an_image_that_is_not_there_fails_after_a_few_looks(lab: World) -> None:
    await lab.create(DATA_VOLUMES, unsized(lab))
    pod = await pod_looks(lab)
    report = json.dumps({"reason": "NotFound", "message": "the server says 404", "retry": False})
    await looked(lab, report, code=1)
    told = await lab.until(DATA_VOLUMES, "disk", lambda each: ready(each).get("reason") == "NotFound")
    assert told["status"]["phase"] == "ImportScheduled"
    await looked(lab, report, code=1, restarts=3)
    failed = await in_phase(lab, "Failed")
    assert "the server says 404" in ready(failed)["message"]
    await lab.gone_with_pod(PODS, pod["metadata"]["name"])
    assert await lab.is_gone(VOLUME_CLAIMS, "disk")


async def test_it_goes_with_its_namespace(lab: World) -> None:
    """Claims are refused there by then, whichever of the two goes first."""
    await lab.create(VOLUME_CLAIMS, {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}, "spec": CLAIM})
    await lab.create(DATA_VOLUMES, volume())
    await in_phase(lab, "ImportScheduled")
    await lab.client.delete(NAMESPACES, lab.namespace)
    await lab.gone(DATA_VOLUMES, "disk")
    await lab.change(VOLUME_CLAIMS, "held", {"metadata": {"finalizers": None}})


async def test_deleting_it_takes_its_claim_along(lab: World) -> None:
    await lab.create(DATA_VOLUMES, volume())
    await in_phase(lab, "ImportScheduled")
    await lab.client.delete(DATA_VOLUMES, "disk", lab.namespace)
    await lab.gone(DATA_VOLUMES, "disk")

    async def look() -> bool:
        await lab.end_claims()
        sources = (await lab.client.list(IMPORT_SOURCES, lab.namespace))["items"]
        return await lab.is_gone(VOLUME_CLAIMS, "disk") and not sources

    await eventually(look)


async def progressed(lab: World, progress: str) -> None:
    await lab.until(DATA_VOLUMES, "disk", lambda each: each["status"]["progress"] == progress)


async def test_progress_makes_no_events(lab: World) -> None:
    await lab.create(DATA_VOLUMES, volume())
    await in_phase(lab, "ImportScheduled")
    for done in range(1, 6):
        reading = json.dumps({"done": done, "total": 10, "rate": 1})
        await annotate(lab, POD_PHASE="Running", RUNNING="true", PROGRESS=reading)
        await progressed(lab, f"{done}0.00%")
    await lab.heard("disk", "ImportInProgress")
    listed = await lab.client.list(EVENTS, lab.namespace, field_selector="involvedObject.kind=DataVolume")
    assert sum(each["reason"] == "ImportInProgress" for each in listed["items"]) == 1
