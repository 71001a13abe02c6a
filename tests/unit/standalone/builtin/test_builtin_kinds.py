"""The smaller kinds: their names as kube-apiserver 1.32 has them, their defaults and rules."""

from collections.abc import Callable
from typing import Any

import pytest

from growth import assert_linear
from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.builtin.kinds.event import from_core, to_core
from ingot.standalone.schema.crd_lists import check as list_causes

Make = Callable[[str], Any]


def test_names_are_unique_and_absent_kinds_are_absent() -> None:
    qualified = [definition.qualified for definition in DEFINITIONS]
    assert len(qualified) == len(set(qualified))
    assert {"pods", "leases.coordination.k8s.io", "customresourcedefinitions.apiextensions.k8s.io"} <= set(qualified)
    assert not [name for name in qualified if name.endswith(".apps") or name == "resourcequotas"]


@pytest.mark.parametrize(
    ("qualified", "kind_name", "singular", "short"),
    [
        ("endpoints", "Endpoints", "endpoints", ("ep",)),
        ("storageclasses.storage.k8s.io", "StorageClass", "storageclass", ("sc",)),
        (
            "customresourcedefinitions.apiextensions.k8s.io",
            "CustomResourceDefinition",
            "customresourcedefinition",
            ("crd", "crds"),
        ),
        ("priorityclasses.scheduling.k8s.io", "PriorityClass", "priorityclass", ("pc",)),
    ],
)
def test_kinds_have_their_names(kind: Make, qualified: str, kind_name: str, singular: str, short: Any) -> None:
    definition = kind(qualified).definition
    assert (definition.kind, definition.singular, definition.short_names) == (kind_name, singular, short)


def test_a_namespace_gets_its_label_and_a_phase(kind: Make) -> None:
    made = kind("namespaces").filled({"metadata": {"name": "n"}})
    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}
    assert made["status"] == {"phase": "Active"}


def test_a_namespace_that_was_let_go_stays_so(kind: Make) -> None:
    metadata = {"name": "n", "resourceVersion": "5", "deletionTimestamp": "2020-01-01T00:00:00Z"}
    made = kind("namespaces").filled({"metadata": metadata, "spec": {"finalizers": []}})
    assert made["spec"] == {}
    assert made["status"]["phase"] == "Terminating"


def test_a_secret_takes_text_and_stores_base64(kind: Make) -> None:
    made = kind("secrets").filled({"stringData": {"a": "b"}, "data": {"a": "eA==", "c": "ZA=="}})
    assert (made["type"], made["data"]) == ("Opaque", {"a": "Yg==", "c": "ZA=="})
    assert "stringData" not in made


@pytest.mark.parametrize(
    ("secret_type", "missing"),
    [
        ("kubernetes.io/tls", ["data[tls.crt]: Required value", "data[tls.key]: Required value"]),
        ("kubernetes.io/ssh-auth", ["data[ssh-privatekey]: Required value"]),
        ("kubernetes.io/basic-auth", ["data[username]: Required value", "data[password]: Required value"]),
        ("kubernetes.io/dockerconfigjson", ["data[.dockerconfigjson]: Required value"]),
        ("anything/else", []),
    ],
)
def test_well_known_secrets_need_their_keys(kind: Make, secret_type: str, missing: list[str]) -> None:
    assert kind("secrets").faults({"type": secret_type}) == missing


def test_an_immutable_config_map_changes_no_more(kind: Make) -> None:
    frozen = {"data": {"a": "b"}, "immutable": True}
    config = kind("configmaps")
    why = "field is immutable when `immutable` is set"
    assert config.changes(frozen, lambda obj: obj["data"].update(a="c")) == [f"data: Forbidden: {why}"]
    assert config.changes(frozen, lambda obj: obj.update(immutable=False)) == [f"immutable: Forbidden: {why}"]
    assert not config.changes(frozen, lambda obj: obj["metadata"].update(labels={"a": "b"}))


def test_a_config_map_holds_a_mebibyte(kind: Make) -> None:
    config = kind("configmaps")
    assert not config.faults({"data": {"a": "x" * 1024 * 1024}})
    assert config.faults({"data": {"a": "x" * 1024 * 1024}, "binaryData": {"b": "YQ=="}}) == [
        "[]: Too long: may not be more than 1048576 bytes"
    ]


def test_a_storage_class_stands(kind: Make) -> None:
    given = {"provisioner": "a/b", "parameters": {"x": "y"}}
    classes = kind("storageclasses.storage.k8s.io")
    made = classes.filled(given)
    assert (made["reclaimPolicy"], made["volumeBindingMode"]) == ("Delete", "Immediate")
    assert classes.changes(given, lambda obj: obj.update(provisioner="c")) == [
        "provisioner: Forbidden: updates to provisioner are forbidden."
    ]
    assert not classes.changes(given, lambda obj: obj.update(allowVolumeExpansion=True))


def test_rules_need_verbs_groups_and_resources(kind: Make) -> None:
    assert kind("roles.rbac.authorization.k8s.io").faults({"rules": [{}]}) == [
        "rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
    ]


def test_a_binding_keeps_its_role(kind: Make) -> None:
    given = {"roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "User", "name": "u"}]}
    bindings = kind("rolebindings.rbac.authorization.k8s.io")
    assert bindings.filled(given)["subjects"][0]["apiGroup"] == "rbac.authorization.k8s.io"
    (fault,) = bindings.changes(given, lambda obj: obj["roleRef"].update(name="edit"))
    assert fault.endswith("cannot change roleRef")
    assert not bindings.changes(given, lambda obj: obj.update(subjects=[]))


def test_an_account_of_the_cluster_needs_a_namespace(kind: Make) -> None:
    given = {"roleRef": {"kind": "ClusterRole", "name": "view"}, "subjects": [{"kind": "ServiceAccount", "name": "s"}]}
    assert kind("clusterrolebindings.rbac.authorization.k8s.io").faults(given) == [
        "subjects[0].namespace: Required value"
    ]


def test_events_have_two_forms_of_one_content(kind: Make) -> None:
    core = kind("events").filled(
        {"involvedObject": {"namespace": "default", "name": "a"}, "message": "m", "count": 2, "reportingComponent": "c"}
    )
    new = from_core(core)
    assert (new["regarding"]["name"], new["note"], new["deprecatedCount"]) == ("a", "m", 2)
    assert (new["reportingController"], new["apiVersion"]) == ("c", "events.k8s.io/v1")
    assert to_core(new) == core
    assert kind("events.events.k8s.io").definition.key == kind("events").definition.key


def test_an_event_is_in_the_namespace_of_what_it_is_about(kind: Make) -> None:
    assert kind("events").faults({"involvedObject": {"namespace": "other"}}) == [
        'involvedObject.namespace: Invalid value: "other": does not match event.namespace'
    ]


def test_an_event_of_the_new_group_changes_but_its_series(kind: Make) -> None:
    given = {
        "regarding": {"namespace": "default", "name": "a"},
        "reason": "R",
        "note": "m",
        "type": "Normal",
        "action": "A",
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "reportingController": "a/b",
        "reportingInstance": "i",
    }
    events = kind("events.events.k8s.io")
    assert not events.faults(given)
    assert events.changes(given, lambda obj: obj.update(note="n")) == [
        'message: Invalid value: "n": field is immutable'
    ]
    series = {"count": 2, "lastObservedTime": "2020-01-01T00:00:00.000000Z"}
    assert not events.changes(given, lambda obj: obj.update(series=series))


def test_a_node_says_its_address_range_once(kind: Make) -> None:
    nodes = kind("nodes")
    assert nodes.filled({"spec": {"podCIDR": "10.0.0.0/24"}})["spec"]["podCIDRs"] == ["10.0.0.0/24"]
    assert nodes.filled({"spec": {"podCIDRs": ["10.0.0.0/24"]}})["spec"]["podCIDR"] == "10.0.0.0/24"
    given = {"spec": {"providerID": "x"}}
    assert nodes.changes(given, lambda obj: obj["spec"].update(providerID="y")) == [
        'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid'
    ]


def test_a_question_needs_no_name(kind: Make) -> None:
    review = kind("selfsubjectaccessreviews.authorization.k8s.io").definition
    assert review.ephemeral
    assert review.verbs == ("create",)
    assert review.validate({"metadata": {}}, None) == []


def test_a_crd_is_checked_and_filled_in(kind: Make) -> None:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "z.io", "names": {"kind": "W", "plural": "ws"}, "scope": "Namespaced", "versions": [version]}
    crds = kind("customresourcedefinitions.apiextensions.k8s.io")
    good = {"metadata": {"name": "ws.z.io"}, "spec": spec}
    assert crds.filled(good)["spec"]["names"]["listKind"] == "WList"
    assert not crds.faults(good)
    assert crds.faults({"metadata": {"name": "other.z.io"}, "spec": spec})


def test_lists_of_any_length_are_checked_in_time(kind: Make) -> None:
    def keys(length: int) -> None:
        names = [f"k{number}" for number in range(length)]
        properties = {name: {"type": "string", "default": ""} for name in names}
        items = {"type": "object", "properties": properties}
        mapped = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": names}
        assert list_causes({"type": "array", "items": items, **mapped}, "spec") == []

    def tolerations(length: int) -> None:
        taken = [{"key": f"k{number}", "operator": "Exists"} for number in range(length)]
        spec = {"containers": [{"name": "a", "image": "b"}], "tolerations": taken}
        kind("pods").changes({"spec": spec}, lambda pod: None)

    def addresses(length: int) -> None:
        known = [{"type": "Hostname", "address": f"k{number}"} for number in range(length)]
        kind("nodes").changes({"status": {"addresses": known}}, lambda node: None)

    for work in (keys, tolerations, addresses):
        assert_linear(work, 2500)
