"""A webhook that nobody lets ask the cluster: what needs a right of its own is for system:masters alone (G10)."""

from __future__ import annotations

import pytest

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.control.judge import judge
from ingot.kube.webhook import AdmissionRequest, GroupVersionKind

MASTERS = {"username": "root", "groups": ["system:masters"]}
JANE = {"username": "jane", "groups": ["system:authenticated"]}
CDI = "cdi.kubevirt.io"


def request(kind: str, spec: Object, user: Object, old: Object | None = None) -> AdmissionRequest:
    made = {"apiVersion": f"{CDI}/v1beta1", "kind": kind, "metadata": {"name": "it", "namespace": "here"}, "spec": spec}
    return AdmissionRequest(
        uid="1",
        operation="UPDATE" if old else "CREATE",
        kind=GroupVersionKind(CDI, "v1beta1", kind),
        name="it",
        namespace="here",
        user_info=user,
        object=made,
        old_object={**made, "spec": old} if old else None,
    )


def volume(namespace: str) -> Object:
    return {"source": {"pvc": {"namespace": namespace, "name": "fedora"}}, "storage": {}}


async def judged(asked: AdmissionRequest) -> list[Object]:
    found = judge(None)(asked)
    return found if isinstance(found, list) else await found


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        ("DataVolume", volume("golden"), "spec.source.pvc"),
        (
            "DataVolume",
            {"sourceRef": {"kind": "DataSource", "namespace": "golden", "name": "a"}, "storage": {}},
            "spec.sourceRef",
        ),
        ("DataSource", {"source": {"snapshot": {"namespace": "golden", "name": "a"}}}, "spec.source.snapshot"),
    ],
)
async def test_a_clone_from_another_namespace_is_refused_with_the_cure(kind: str, spec: Object, field: str) -> None:
    with pytest.raises(ApiError) as caught:
        await judged(request(kind, spec, JANE))
    assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
    assert f'"it" is forbidden: {field} clones ' in caught.value.message
    assert "this `ingot webhook` cannot ask who may: run it with --kubeconfig" in caught.value.message
    assert await judged(request(kind, spec, MASTERS)) == []


async def test_what_demands_nothing_passes() -> None:
    assert await judged(request("DataVolume", volume("here"), JANE)) == []
    assert await judged(request("DataSource", {"source": {}}, JANE)) == []
    assert await judged(request("VolumeUploadSource", {}, JANE)) == []


async def test_what_stands_is_not_asked_about_again() -> None:
    assert await judged(request("DataVolume", volume("golden"), JANE, volume("golden"))) == []


async def test_a_status_that_names_another_namespace_is_refused_too() -> None:
    asked = request("DataVolume", volume("here"), JANE, volume("here"))
    asked.sub_resource = "status"
    assert await judged(asked) == []
    origin = {"kind": "PersistentVolumeClaim", "namespace": "golden", "name": "fedora"}
    asked.object = {**(asked.object or {}), "status": {"origin": origin}}
    with pytest.raises(ApiError, match=r'status\.origin clones persistentvolumeclaims "fedora" of another namespace'):
        await judged(asked)
    asked.user_info = MASTERS
    assert await judged(asked) == []


async def test_a_fault_is_told_before_a_right() -> None:
    with pytest.raises(ApiError, match="Unsupported value"):
        await judged(request("DataVolume", {**volume("golden"), "storage": {"accessModes": ["Never"]}}, JANE))
