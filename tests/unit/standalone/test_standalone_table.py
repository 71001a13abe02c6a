"""Tables: cells, ages and JSONPath, as kube-apiserver 1.32.13 gave them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from growth import assert_linear
from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.resources.definition import Column, Definition, Version
from ingot.standalone.table import age, jsonpath, render

KINDS = {definition.qualified: definition for definition in DEFINITIONS}
THING: dict[str, Any] = {
    "metadata": {"name": "a", "annotations": {"a.b/c": "ann"}},
    "spec": {
        "text": "text",
        "none": None,
        "whole": 5,
        "part": 1.5,
        "flag": True,
        "when": "2020-01-01T00:00:00Z",
        "list": [{"name": "x", "v": 1}, {"name": "y", "v": 2}],
        "map": {"k": "v", "a": 1},
    },
    "status": {"conditions": [{"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"}]},
}


def thing(*columns: Column) -> Definition:
    return Definition(
        "x.io", "Thing", "things", "thing", True, {"v1": Version("v1", {}, columns=columns)}, "v1", custom=True
    )


def cell(path: str, kind: str = "string") -> Any:
    definition = thing(Column("C", path, kind))
    return render(definition, definition.versions["v1"], [THING], {})["rows"][0]["cells"][1]


@pytest.mark.parametrize(
    ("path", "kind", "expected"),
    [
        (".spec.text", "string", "text"),
        (".spec.none", "string", "<no value>"),
        (".spec.absent.too", "string", None),
        (".spec.whole", "integer", 5),
        (".spec.part", "integer", 1),
        (".spec.part", "number", 1.5),
        (".spec.whole", "string", "5"),
        (".spec.flag", "boolean", True),
        (".spec.flag", "string", "true"),
        (".spec.text", "integer", None),
        (".spec.text", "date", "<invalid>"),
        (".spec.map", "string", '{"a":1,"k":"v"}'),
        ('.status.conditions[?(@.type=="Ready")].status', "string", "True"),
        (".status.conditions[?(@.type=='Ready')].status", "string", "True"),
        (".spec.list[?(@.v>1)].name", "string", "y"),
        (".spec.list[?(@.v)].name", "string", "x"),
        (".spec.list[1].name", "string", "y"),
        (".spec.list[-1].name", "string", "y"),
        (".spec.list[5].name", "string", None),
        (".spec.list[*].name", "string", "x"),
        (".spec.list[0:1].name", "string", "x"),
        (r".metadata.annotations.a\.b/c", "string", "ann"),
        (r".metadata.annotations['a\.b/c']", "string", "ann"),
    ],
)
def test_cells_of_custom_resources(path: str, kind: str, expected: Any) -> None:
    assert cell(path, kind) == expected


def test_a_date_is_an_age() -> None:
    assert cell(".spec.when", "date").endswith(("y", "d"))


@pytest.mark.parametrize("text", ["[?(x)]", "[", "a[?(b==1)]]"])
def test_what_is_no_path_is_told(text: str) -> None:
    with pytest.raises(jsonpath.JsonPathError):
        jsonpath.compile_path(text)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (333, "5m33s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 65, "3h1m"),
        (8 * 3600, "8h"),
        (47 * 3600, "47h"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (2 * 365 * 86400, "2y"),
        (3 * 365 * 86400 + 86400, "3y1d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages_grow_rough(seconds: int, expected: str) -> None:
    assert age.human(seconds) == expected


def test_an_age_is_counted_from_now() -> None:
    now = datetime(2020, 1, 1, 0, 1, tzinfo=UTC)
    assert age.since("2020-01-01T00:00:00Z", now) == "60s"
    assert age.since("2020-01-01T00:00:00.500000Z", now) == "59s"
    assert age.since(None) == "<unknown>"
    assert age.since("2020-01-01T00:00:00", now) == "<invalid>"


def test_a_custom_resource_shows_name_and_age_if_nothing_else() -> None:
    definition = thing()
    table = render(definition, definition.versions["v1"], [THING], {"resourceVersion": "7"})
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Age"]
    assert table["metadata"] == {"resourceVersion": "7"}
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["rows"][0]["cells"][0] == "a"


@pytest.mark.parametrize(
    ("include", "expected"),
    [
        ("None", None),
        ("Metadata", {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": THING["metadata"]}),
        ("Object", THING),
    ],
)
def test_rows_carry_what_was_asked_for(include: str, expected: Any) -> None:
    definition = thing()
    assert render(definition, definition.versions["v1"], [THING], {}, include)["rows"][0]["object"] == expected


def shown(qualified: str, obj: dict[str, Any]) -> dict[str, Any]:
    definition = KINDS[qualified]
    obj = {**obj, "metadata": {"name": "x", "creationTimestamp": "2020-01-01T00:00:00Z", **obj.get("metadata", {})}}
    definition.default(obj)
    table = render(definition, definition.versions[definition.storage_version], [obj], {})
    return dict(zip((c["name"] for c in table["columnDefinitions"]), table["rows"][0]["cells"], strict=True))


def state(name: str = "a", restarts: int = 0, ready: bool = False, **states: Any) -> dict[str, Any]:
    return {"name": name, "restartCount": restarts, "ready": ready, **states}


ENDED = {"terminated": {"exitCode": 0, "reason": "Completed"}}


@pytest.mark.parametrize(
    ("status", "ready", "reason", "restarts"),
    [
        ({}, "0/2", "Pending", "0"),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    state(ready=True, state={"running": {}}),
                    state("c", 3, state={"waiting": {"reason": "CrashLoopBackOff"}}),
                ],
            },
            "1/2",
            "CrashLoopBackOff",
            "3",
        ),
        ({"phase": "Failed", "reason": "Evicted"}, "0/2", "Evicted", "0"),
        (
            {"phase": "Failed", "containerStatuses": [state(state={"terminated": {"exitCode": 3}})]},
            "0/2",
            "ExitCode:3",
            "0",
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [state(state=ENDED), state("c", ready=True, state={"running": {}})],
            },
            "1/2",
            "NotReady",
            "0",
        ),
        ({"phase": "Pending", "initContainerStatuses": [state("i", 2, state={"running": {}})]}, "0/2", "Init:0/1", "2"),
        (
            {"phase": "Pending", "initContainerStatuses": [state("i", state={"terminated": {"exitCode": 2}})]},
            "0/2",
            "Init:ExitCode:2",
            "0",
        ),
    ],
)
def test_the_status_of_a_pod_sums_up_its_containers(status: Any, ready: str, reason: str, restarts: str) -> None:
    spec = {
        "containers": [{"name": "a", "image": "b"}, {"name": "c", "image": "d"}],
        "initContainers": [{"name": "i", "image": "x"}],
    }
    row = shown("pods", {"spec": spec, "status": status})
    assert (row["Ready"], row["Status"], row["Restarts"]) == (ready, reason, restarts)


def test_a_pod_on_its_way_out_says_so() -> None:
    metadata = {"deletionTimestamp": "2020-01-01T00:00:00Z"}
    row = shown("pods", {"metadata": metadata, "spec": {"containers": []}, "status": {"phase": "Running"}})
    assert row["Status"] == "Terminating"


def test_a_restart_tells_when() -> None:
    finished = (datetime.now(UTC) - timedelta(minutes=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
    last = state("a", 1, True, state={"running": {}}, lastState={"terminated": {"exitCode": 1, "finishedAt": finished}})
    row = shown("pods", {"spec": {"containers": []}, "status": {"phase": "Running", "containerStatuses": [last]}})
    assert row["Restarts"] == "1 (30m ago)"


def test_claims_show_their_volume_once_they_have_one() -> None:
    spec = {"volumeName": "v", "storageClassName": "s"}
    status = {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadOnlyMany", "ReadWriteOnce"]}
    row = shown("persistentvolumeclaims", {"spec": spec, "status": status})
    assert (row["Status"], row["Volume"], row["Capacity"], row["Access Modes"], row["StorageClass"]) == (
        "Bound",
        "v",
        "1Gi",
        "RWO,ROX",
        "s",
    )
    row = shown("persistentvolumeclaims", {"spec": {}})
    assert (row["Status"], row["Volume"], row["Capacity"], row["Access Modes"]) == ("Pending", "", "", "")


def test_nodes_services_classes_and_bindings_say_what_matters() -> None:
    labels = {"node-role.kubernetes.io/worker": ""}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    node = shown("nodes", {"metadata": {"labels": labels}, "spec": {"unschedulable": True}, "status": ready})
    assert (node["Status"], node["Roles"]) == ("Ready,SchedulingDisabled", "worker")
    spec = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30123}], "clusterIPs": ["10.96.0.9"]}
    service = shown("services", {"spec": spec})
    assert (service["Cluster-IP"], service["Port(s)"], service["External-IP"]) == (
        "10.96.0.9",
        "80:30123/TCP",
        "<none>",
    )
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    chosen = shown("storageclasses.storage.k8s.io", {"metadata": {"annotations": annotations}, "provisioner": "p"})
    assert chosen["Name"] == "x (default)"
    subjects = [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}, {"kind": "User", "name": "u"}]
    role = {"kind": "ClusterRole", "name": "view"}
    binding = shown("rolebindings.rbac.authorization.k8s.io", {"roleRef": role, "subjects": subjects})
    assert (binding["Role"], binding["Users"], binding["ServiceAccounts"]) == ("ClusterRole/view", "u", "n/s")


def test_events_of_both_groups_show_the_same() -> None:
    about = {"namespace": "default", "name": "a", "kind": "Pod"}
    old = shown("events", {"involvedObject": about, "reason": "R", "message": " m ", "count": 4})
    new = shown("events.events.k8s.io", {"regarding": about, "reason": "R", "note": " m ", "deprecatedCount": 4})
    assert old == new
    assert (old["Object"], old["Message"], old["Count"], old["Name"]) == ("pod/a", "m", 4, "x")


@pytest.mark.parametrize(
    ("before", "repeated", "after"),
    [("", ".a", ""), ("[?(@.a==x", " ", "x)]"), ("[?(@", "a", " )]"), ("", ".a[0]", ".")],
)
def test_a_long_path_is_read_in_time(before, repeated, after):
    read = jsonpath.compile_path.__wrapped__  # not from the cache
    assert_linear(lambda length: read(before + repeated * length + after), 10_000)


@pytest.mark.parametrize("path", [f".a[{'9' * 5000}]", f".a[:{'9' * 5000}]"])
def test_an_index_has_no_more_digits_than_a_list_can_have(path):
    with pytest.raises(jsonpath.JsonPathError):
        jsonpath.compile_path(path)
