"""The launcher pod, field by field."""

from typing import Any

from ingot.api.object import Object
from ingot.control.launcher import launcher

META = {"name": "vm", "namespace": "ns", "uid": "0123456789"}


def instance(*volumes: Object, metadata: Object | None = None, **spec: Any) -> Object:
    domain = spec.pop("domain", {"memory": {"guest": "1Gi"}, "cpu": {"cores": 2}, "devices": {}})
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": META | (metadata or {}),
        "spec": {"domain": domain, "volumes": list(volumes), **spec},
    }


def claim(name: str, mode: str = "Filesystem") -> Object:
    return {"metadata": {"name": name}, "spec": {"volumeMode": mode}}


def test_names_labels_and_annotations_are_kubevirts() -> None:
    given = {
        "labels": {"app": "web", "long": "x" * 64},
        "annotations": {"note": "kept", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }
    made = launcher(instance(metadata=given), {})["metadata"]
    assert (made["name"], made["namespace"]) == ("virt-launcher-vm-01234", "ns")
    assert made["labels"] == {
        "app": "web",
        "kubevirt.io": "virt-launcher",
        "kubevirt.io/created-by": "0123456789",
        "vm.kubevirt.io/name": "vm",
    }
    assert made["annotations"] == {
        "note": "kept",
        "kubevirt.io/domain": "vm",
        "kubectl.kubernetes.io/default-container": "compute",
    }
    (owner,) = made["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("VirtualMachineInstance", "0123456789", True)


def test_it_waits_on_the_pipe_and_does_nothing_else() -> None:
    spec = launcher(instance(), {})["spec"]
    (container,) = spec["containers"]
    assert container["name"] == "compute"
    assert container["command"][:2] == ["sh", "-c"]
    assert container["command"][3] == "/var/run/ingot/private/end"
    assert container["volumeMounts"] == [{"name": "ingot-private", "mountPath": "/var/run/ingot/private"}]
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert (spec["restartPolicy"], spec["automountServiceAccountToken"]) == ("Never", False)
    assert spec["volumes"] == [{"name": "ingot-private", "emptyDir": {}}]


def test_claims_are_mounted_as_what_they_are() -> None:
    volumes = [
        {"name": "files", "persistentVolumeClaim": {"claimName": "a", "readOnly": True}},
        {"name": "block", "dataVolume": {"name": "b"}},
        {"name": "direct", "persistentVolumeClaim": {"claimName": "c"}},
    ]
    spec = launcher(instance(*volumes), {"files": claim("a"), "block": claim("b", "Block")})["spec"]
    (container,) = spec["containers"]
    assert container["volumeMounts"][1:] == [{"name": "files", "mountPath": "/var/run/ingot/disks/files"}]
    assert container["volumeDevices"] == [{"name": "block", "devicePath": "/dev/ingot/block"}]
    assert spec["volumes"][1:] == [
        {"name": "files", "persistentVolumeClaim": {"claimName": "a", "readOnly": True}},
        {"name": "block", "persistentVolumeClaim": {"claimName": "b"}},
    ]


def test_what_places_the_pod() -> None:
    toleration = {"key": "gpu", "operator": "Exists"}
    volumes = [
        {"name": "root", "iscsi": {}, "copy": {"mode": "copy-on-write", "usageType": "fast"}},
        {"name": "data", "nbd": {}, "copy": {"mode": "clone"}},
        {"name": "own", "nbd": {}, "copy": {"mode": "none"}},
    ]
    spec = launcher(
        instance(
            *volumes,
            nodeSelector={"disk": "ssd"},
            architecture="arm64",
            tolerations=[toleration],
            affinity={"nodeAffinity": {}},
            priorityClassName="high",
            schedulerName="mine",
        ),
        {},
    )["spec"]
    assert spec["nodeSelector"] == {
        "disk": "ssd",
        "kubevirt.io/schedulable": "true",
        "kubernetes.io/arch": "arm64",
        "usage-type.ingot.io/fast": "true",
        "usage-type.ingot.io/default": "true",
    }
    assert (spec["tolerations"], spec["affinity"]) == ([toleration], {"nodeAffinity": {}})
    assert (spec["priorityClassName"], spec["schedulerName"]) == ("high", "mine")


def test_the_guest_has_time_to_shut_down() -> None:
    assert launcher(instance(), {})["spec"]["terminationGracePeriodSeconds"] == 45
    assert launcher(instance(terminationGracePeriodSeconds=0), {})["spec"]["terminationGracePeriodSeconds"] == 15


def resources(**domain: Any) -> Object:
    made = launcher(instance(domain={"devices": {}, **domain}), {})
    found: Object = made["spec"]["containers"][0]["resources"]
    return found


def test_memory_is_the_guests_and_the_emulators() -> None:
    # 1 GiB, 64 for the emulator, 16 for a screen, 8 for each CPU, and the page tables.
    assert resources(memory={"guest": "1Gi"}, cpu={"cores": 2}) == {
        "requests": {"memory": f"{1024 + 64 + 16 + 16 + 2}Mi", "cpu": "200m"}
    }
    asked = resources(
        memory={"guest": "1Gi"},
        resources={"requests": {"memory": "512Mi", "cpu": "1"}, "limits": {"memory": "1Gi"}},
    )
    assert asked == {"requests": {"memory": "602Mi", "cpu": "1"}, "limits": {"memory": "1114Mi"}}


def test_overhead_can_be_left_out_and_huge_pages_and_own_cpus_asked_for() -> None:
    lean = {"overcommitGuestOverhead": True, "requests": {"memory": "1Gi"}}
    assert resources(resources=lean)["requests"]["memory"] == "1Gi"
    huge = resources(memory={"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}, cpu={"dedicatedCpuPlacement": True})
    assert huge["limits"] == {"hugepages-2Mi": "1Gi", "cpu": "1"}
    assert huge["requests"] == {"memory": "90Mi", "hugepages-2Mi": "1Gi", "cpu": "1"}
