"""Pods: defaults, rules and what may change."""

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[[str], Any]
BOX = {"name": "a", "image": "b"}
SOURCES = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [BOX], **spec}}


def box(**fields: Any) -> dict[str, Any]:
    return pod(containers=[{**BOX, **fields}])


def test_defaults_are_those_of_kubernetes(kind: Make) -> None:
    made = kind("pods").filled(pod())
    assert made["spec"] == {
        "containers": [
            {
                "name": "a",
                "image": "b",
                "resources": {},
                "imagePullPolicy": "Always",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
    }
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("b", "Always"),
        ("b:latest", "Always"),
        ("b:1", "IfNotPresent"),
        ("r.io:5000/x", "Always"),
        ("r.io:5000/x:2", "IfNotPresent"),
        ("b@sha256:" + "a" * 64, "IfNotPresent"),
    ],
)
def test_an_image_without_a_tag_is_always_asked_for(kind: Make, image: str, policy: str) -> None:
    made = kind("pods").filled(box(image=image))
    assert made["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("resources", "quality", "requests"),
    [
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", {"cpu": "1", "memory": "1Gi"}),
        ({"requests": {"cpu": "1"}}, "Burstable", {"cpu": "1"}),
        ({"limits": {"cpu": "1"}}, "Burstable", {"cpu": "1"}),
        ({}, "BestEffort", None),
    ],
)
def test_limits_without_requests_are_both(kind: Make, resources: Any, quality: str, requests: Any) -> None:
    made = kind("pods").filled(box(resources=resources))
    assert made["status"]["qosClass"] == quality
    assert made["spec"]["containers"][0]["resources"].get("requests") == requests


def test_volumes_and_probes_are_filled_in(kind: Make) -> None:
    probe = {"httpGet": {"port": 80}}
    given = box(livenessProbe=probe)
    given["spec"]["volumes"] = [
        {"name": "e"},
        {"name": "s", "secret": {"secretName": "s"}},
        {"name": "h", "hostPath": {"path": "/x"}},
    ]
    spec = kind("pods").filled(given)["spec"]
    assert spec["volumes"] == [
        {"name": "e", "emptyDir": {}},
        {"name": "s", "secret": {"secretName": "s", "defaultMode": 420}},
        {"name": "h", "hostPath": {"path": "/x", "type": ""}},
    ]
    assert spec["containers"][0]["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def test_defaults_settle(kind: Make) -> None:
    pods = kind("pods")
    once = pods.filled(box(ports=[{"containerPort": 80}]))
    twice = pods.filled(once)
    assert once == twice


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": []}, ["spec.containers: Required value"]),
        (
            {"containers": [BOX, BOX]},
            ['spec.containers[1].name: Duplicate value: "a"'],
        ),
        ({"containers": [{"name": "a"}]}, ["spec.containers[0].image: Required value"]),
        (
            {"restartPolicy": "X"},
            ['spec.restartPolicy: Unsupported value: "X": supported values: "Always", "OnFailure", "Never"'],
        ),
        (
            {"activeDeadlineSeconds": 0},
            ["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
        ),
        ({"volumes": [{"name": "v", "secret": {}}]}, ["spec.volumes[0].secret.secretName: Required value"]),
        (
            {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]},
            ['spec.volumes[1].name: Duplicate value: "v"'],
        ),
        (
            {"ephemeralContainers": [{"name": "e", "image": "i"}]},
            ["spec.ephemeralContainers: Forbidden: cannot be set on create"],
        ),
        ({"dnsPolicy": "None"}, ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]},
            ["spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'"],
        ),
    ],
)
def test_faults_of_a_pod(kind: Make, spec: dict[str, Any], expected: list[str]) -> None:
    assert kind("pods").faults(pod(**spec)) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"volumeMounts": [{"name": "w", "mountPath": "/a"}]}, ['volumeMounts[0].name: Not found: "w"']),
        ({"ports": [{"containerPort": 0}]}, ["ports[0].containerPort: Required value"]),
        ({"env": [{"name": "A", "valueFrom": {}}]}, [f'env[0].valueFrom: Invalid value: "": {SOURCES}']),
        ({"livenessProbe": {}}, ["livenessProbe: Required value: must specify a handler type"]),
        ({"restartPolicy": "Always"}, ["restartPolicy: Forbidden: may not be set for non-init containers"]),
        (
            {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}},
            ['resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
        ),
        (
            {"resources": {"requests": {"a.io/b": "1"}}},
            ["resources.limits: Required value: Limit must be set for non overcommitable resources"],
        ),
    ],
)
def test_faults_of_a_container(kind: Make, fields: dict[str, Any], expected: list[str]) -> None:
    assert kind("pods").faults(box(**fields)) == [f"spec.containers[0].{fault}" for fault in expected]


def test_a_pod_changes_images_its_deadline_and_tolerations(kind: Make) -> None:
    pods = kind("pods")
    more = {"key": "x", "operator": "Exists"}
    assert not pods.changes(pod(), lambda obj: obj["spec"]["containers"][0].update(image="c"))
    assert not pods.changes(pod(), lambda obj: obj["spec"].update(tolerations=[more]))
    assert not pods.changes(pod(), lambda obj: obj["spec"].update(activeDeadlineSeconds=5))
    (fault,) = pods.changes(pod(), lambda obj: obj["spec"].update(hostname="n"))
    assert fault.startswith("spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`")
    assert fault.endswith("changed: hostname")
    assert pods.changes(pod(), lambda obj: obj["spec"]["containers"].append({"name": "z", "image": "q"})) == [
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    ]


def test_a_node_comes_with_the_condition_that_tells_of_it(kind: Make) -> None:
    def bind(obj: dict[str, Any]) -> None:
        obj["spec"]["nodeName"] = "n"
        obj["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]

    pods = kind("pods")
    assert not pods.changes(pod(), bind)
    (fault,) = pods.changes(pod(), lambda obj: obj["spec"].update(nodeName="n"))
    assert fault.endswith("changed: nodeName")
