"""Small decisions: usage types, backoff, replicas, selectors, and what a lost pod means."""

from typing import Any

import pytest

from ingot.api import selector
from ingot.api.object import Object
from ingot.control import backoff, progress, replicas, usages
from ingot.control.replicaset import misfit
from ingot.control.template import digest, instance_of, is_outdated

NOW = 1_700_000_000.0


def node(name: str, *offered: str) -> Object:
    return {"metadata": {"name": name, "labels": {f"usage-type.ingot.io/{each}": "true" for each in offered}}}


def test_usage_types_that_nobody_offers_are_told_with_what_is_offered() -> None:
    volumes = [
        {"name": "root", "nbd": {}, "copy": {"mode": "clone", "usageType": "fast"}},
        {"name": "scratch", "emptyDisk": {}},
        {"name": "seed", "cloudInitNoCloud": {}},
    ]
    spec = {"volumes": volumes}
    assert usages.wanted(spec) == {"fast": "root", "default": "scratch"}
    assert usages.missing(spec, [node("a", "default", "fast"), node("b")]) == ""
    told = usages.missing(spec, [node("b", "default"), node("a", "default", "slow")])
    assert 'volume "root"' in told
    assert '"fast"' in told
    assert "default by a, b; slow by a" in told
    assert usages.missing({"volumes": volumes[1:]}, []) == ""


@pytest.mark.parametrize(("failures", "seconds"), [(1, 10), (2, 20), (3, 40), (5, 160), (6, 300), (900, 300)])
def test_starts_that_fail_are_tried_ever_more_rarely(failures: int, seconds: int) -> None:
    assert backoff.delay(failures) == seconds


def test_a_failed_start_counts_once_and_a_run_clears_it() -> None:
    machine: Object = {"spec": {"runStrategy": "Always"}, "status": {}}
    failed: Object = {"metadata": {"uid": "u1"}, "status": {"phase": "Failed"}}
    for _ in range(2):
        backoff.note(machine, failed, NOW)
    assert machine["status"]["startFailure"]["consecutiveFailCount"] == 1
    assert backoff.left(machine, NOW) == 10
    assert backoff.left(machine, NOW + 11) == 0
    backoff.note(machine, None, NOW)
    assert machine["status"]["startFailure"]["consecutiveFailCount"] == 1
    backoff.note(machine, failed | {"metadata": {"uid": "u2"}}, NOW)
    assert backoff.left(machine, NOW) == 20
    ran = {"phase": "Failed", "phaseTransitionTimestamps": [{"phase": "Running"}]}
    backoff.note(machine, {"metadata": {"uid": "u3"}, "status": ran}, NOW)
    assert "startFailure" not in machine["status"]


def test_an_instance_that_was_deleted_while_it_started_is_no_failed_start() -> None:
    machine: Object = {"spec": {"runStrategy": "Always"}, "status": {}}
    deleted: Object = {"metadata": {"uid": "u1", "deletionTimestamp": "now"}, "status": {"phase": "Failed"}}
    backoff.note(machine, deleted, NOW)
    assert "startFailure" not in machine["status"]
    backoff.note(machine, deleted | {"metadata": {"uid": "u0"}}, NOW)
    known = machine["status"]["startFailure"]
    backoff.note(machine, deleted, NOW)
    assert machine["status"]["startFailure"] == known


def replica(name: str, phase: str = "Running", ready: str = "True", **metadata: Any) -> Object:
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}
    return {"metadata": {"name": name, **metadata}, "status": status}


def test_those_that_are_not_ready_go_first_and_then_the_youngest() -> None:
    old = replica("old", creationTimestamp="2023-01-01T00:00:00Z")
    young = replica("young", creationTimestamp="2023-01-02T00:00:00Z")
    unready = replica("unready", ready="False", creationTimestamp="2022-01-01T00:00:00Z")
    assert replicas.victims([old, young, unready], 2) == [unready, young]
    gone = replica("gone", deletionTimestamp="now")
    done = replica("done", phase="Succeeded")
    assert replicas.active([old, gone, done]) == [old]
    assert replicas.ended([old, gone, done]) == [done]
    assert replicas.ready([old, unready]) == 1


def test_batches_grow() -> None:
    assert list(replicas.batches(10)) == [1, 2, 4, 3]
    assert list(replicas.batches(0)) == []


SELECTOR = {
    "matchLabels": {"app": "web"},
    "matchExpressions": [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "zone", "operator": "NotIn", "values": ["x"]},
        {"key": "name", "operator": "Exists"},
    ],
}


def test_selectors() -> None:
    labels = {"app": "web", "tier": "a", "name": ""}
    assert selector.matches(SELECTOR, labels)
    for change in ({"app": "db"}, {"tier": "c"}, {"old": "1"}, {"zone": "x"}):
        assert not selector.matches(SELECTOR, labels | change)
    assert not selector.matches(SELECTOR, {"app": "web", "tier": "a"})
    assert selector.text(SELECTOR) == "app=web,tier in (a,b),!old,zone notin (x),name"


def test_a_set_whose_template_its_selector_does_not_take_makes_nothing() -> None:
    template: Object = {"metadata": {"labels": {"app": "db"}}}
    spec: Object = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    fault = misfit({"spec": spec})
    assert fault is not None
    assert fault.reason == "SelectorMismatch"
    assert "(app=db)" in fault.message
    assert "(app=web)" in fault.message
    assert misfit({"spec": {**spec, "template": {}}}) is not None
    template["metadata"]["labels"] |= {"app": "web"}
    assert misfit({"spec": spec}) is None


def vm(**spec: Any) -> Object:
    metadata = {"name": "vm", "namespace": "ns", "uid": "u1", "generation": 4}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"domain": {"devices": {}}, **spec}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": metadata,
        "spec": {"template": template},
    }


def test_an_instance_is_made_from_the_template_and_knows_from_which() -> None:
    machine = vm()
    made = instance_of(machine, {"paused": "true"})
    assert made["metadata"]["labels"] == {"a": "b"}
    assert made["metadata"]["annotations"]["kubevirt.io/vm-generation"] == "4"
    assert made["spec"]["startStrategy"] == "Paused"
    assert "startStrategy" not in instance_of(machine)["spec"]
    uuid = made["spec"]["domain"]["firmware"]["uuid"]
    assert uuid == instance_of(vm())["spec"]["domain"]["firmware"]["uuid"]
    assert "firmware" not in machine["spec"]["template"]["spec"]["domain"]
    assert not is_outdated(machine, made)
    assert is_outdated(vm(hostname="other"), made)
    assert digest(machine) == digest(vm())


def ready_condition(status: str, since: str) -> list[Object]:
    return [{"type": "Ready", "status": status, "lastTransitionTime": since, "reason": "r", "message": "silent"}]


def test_a_node_that_is_silent_is_told_unless_its_agent_has_spoken_since() -> None:
    silent = {"metadata": {"name": "far"}, "status": {"conditions": ready_condition("Unknown", "2023-01-02T00:00:00Z")}}
    back = {"metadata": {"name": "far"}, "status": {"conditions": ready_condition("True", "2023-01-03T00:00:00Z")}}
    instance: Object = {"metadata": {}, "status": {"conditions": ready_condition("True", "2023-01-01T00:00:00Z")}}
    progress.note_node(instance, silent, NOW)
    (found,) = instance["status"]["conditions"]
    assert (found["status"], found["reason"]) == ("False", "NodeNotReady")
    assert '"far"' in found["message"]
    progress.note_node(instance, back, NOW)
    assert instance["status"]["conditions"][0]["status"] == "True"
    progress.note_node(instance, silent, NOW)
    assert instance["status"]["conditions"][0]["status"] == "True"
