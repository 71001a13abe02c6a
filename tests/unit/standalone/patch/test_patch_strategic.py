import copy

import pytest

from growth import assert_linear
from ingot.api.status import ApiError
from ingot.standalone.builtin import schemas
from ingot.standalone.patch import strategic
from ingot.standalone.patch.typed import TypedSchema

POD = TypedSchema(schemas.resolved("io.k8s.api.core.v1.Pod"))


def c(name, **more):
    return {"name": name, **more}


def pod(**spec):
    return {"metadata": {"name": "p"}, "spec": spec}


def patched(base, patch):
    kept = copy.deepcopy((base, patch))
    made = strategic.apply(base, patch, POD)
    assert (base, patch) == kept
    return made


@pytest.mark.parametrize(
    ("base", "patch", "expected"),
    [
        ({"nodeName": "a"}, {"nodeName": None, "hostname": "h"}, {"hostname": "h"}),
        ({}, {"securityContext": {"runAsUser": None}}, {"securityContext": {}}),
        # Lists are merged by their key, replaced where they have none.
        (
            {"containers": [c("a", image="1"), c("b")]},
            {"containers": [c("b", image="2"), c("a", tty=True)]},
            {"containers": [c("b", image="2"), c("a", image="1", tty=True)]},
        ),
        ({"containers": [c("a")]}, {"containers": [c("b")]}, {"containers": [c("b"), c("a")]}),
        (
            {"containers": [c("a", args=["1", "2"])]},
            {"containers": [c("a", args=["3"])]},
            {"containers": [c("a", args=["3"])]},
        ),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]}, {"tolerations": [{"key": "b"}]}),
        # Directives on items.
        (
            {"containers": [c("a"), c("b")]},
            {"containers": [{"$patch": "delete", "name": "a"}]},
            {"containers": [c("b")]},
        ),
        (
            {"containers": [c("a"), c("b")]},
            {"containers": [c("z"), {"$patch": "replace"}]},
            {"containers": [c("z")]},
        ),
        # Directives on maps.
        ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$patch": "replace", "b": "2"}}, {"nodeSelector": {"b": "2"}}),
        ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"$patch": "delete"}}, {"nodeSelector": {}}),
        ({}, {"nodeSelector": {"$patch": "delete"}}, {}),
        (
            {"volumes": [c("v", emptyDir={})]},
            {"volumes": [c("v", hostPath={"path": "/"}, **{"$retainKeys": ["name", "hostPath"]})]},
            {"volumes": [c("v", hostPath={"path": "/"})]},
        ),
        # Order.
        (
            {"containers": [c("a"), c("b"), c("c")]},
            {"$setElementOrder/containers": [c("c"), c("a")]},
            {"containers": [c("b"), c("c"), c("a")]},
        ),
        (
            {"containers": [c("a"), c("b")]},
            {"$setElementOrder/containers": [c("n"), c("a")], "containers": [c("n")]},
            {"containers": [c("n"), c("a"), c("b")]},
        ),
        (
            {"containers": [c("a"), c("b"), c("c")]},
            {
                "$setElementOrder/containers": [c("n"), c("b")],
                "containers": [c("n"), {"$patch": "delete", "name": "a"}],
            },
            {"containers": [c("c"), c("n"), c("b")]},
        ),
        ({}, {"$setElementOrder/containers": [c("a")], "containers": [c("a")]}, {"containers": [c("a")]}),
        ({}, {"$setElementOrder/containers": []}, {}),
    ],
)
def test_merging(base, patch, expected):
    assert patched(pod(**base), pod(**patch))["spec"] == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"finalizers": ["c", "a"]}, ["c", "a", "b"]),
        ({"$deleteFromPrimitiveList/finalizers": ["a"]}, ["b"]),
        ({"$setElementOrder/finalizers": ["b", "a"]}, ["b", "a"]),
        ({"$setElementOrder/finalizers": ["b", "c"], "finalizers": ["c"]}, ["a", "b", "c"]),
    ],
)
def test_lists_of_scalars_are_merged_as_sets(patch, expected):
    assert patched({"metadata": {"finalizers": ["a", "b"]}}, {"metadata": patch})["metadata"]["finalizers"] == expected


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ([], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (pod(nodeSelector={"$patch": "nope"}), 500, "unknown patch type: nope in map: map[$patch:nope]"),
        (pod(nodeSelector={"$retainKeys": "x"}), 400, "invalid patch format of retainKeys"),
        (pod(nodeSelector={"$retainKeys": ["a"], "b": "c"}), 400, "invalid patch format of retainKeys"),
        (pod(**{"$deleteFromPrimitiveListX": []}), 400, "invalid patch format of primitive list"),
        (pod(**{"$setElementOrderX": []}), 400, "invalid patch format of setElementOrder list"),
        (pod(**{"$setElementOrder/containers": "x"}), 500, "expected a []interface {}, but received a string"),
        (pod(containers=[{"image": "i"}]), 500, "map: map[image:i] does not contain declared merge key: name"),
        (pod(containers=[c("a", **{"$patch": "merge"})]), 500, "merging lists cannot yet be specified in the patch"),
        (
            pod(containers=[c("b"), c("a")], **{"$setElementOrder/containers": [c("a"), c("b")]}),
            500,
            "The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match "
            "$setElementOrder list:\n[map[name:a] map[name:b]]\n",
        ),
        (
            pod(**{"$setElementOrder/ports": []}),
            500,
            'unable to find api field in struct PodSpec for the json field "ports"',
        ),
    ],
)
def test_what_does_not_fit_is_refused(patch, code, message):
    base = pod(nodeSelector={"a": "1"}, containers=[c("a")])
    with pytest.raises(ApiError) as caught:
        strategic.apply(base, patch, POD)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_null_is_an_empty_patch():
    assert patched(pod(nodeName="a"), None) == pod(nodeName="a")


def test_lists_of_any_length_are_merged_in_time():
    assert_linear(_merge_and_take_away, 500)


def _merge_and_take_away(half):
    old, new = [str(number) for number in range(2 * half)], [str(number) for number in range(half, 3 * half)]
    base = {"metadata": {"finalizers": old}, "spec": {"containers": [c(name) for name in old]}}
    made = strategic.apply(
        base, {"metadata": {"finalizers": new}, "spec": {"containers": [c(name, tty=True) for name in new]}}, POD
    )
    assert len(made["metadata"]["finalizers"]) == len(made["spec"]["containers"]) == 3 * half
    made = strategic.apply(
        made,
        {
            "metadata": {"$deleteFromPrimitiveList/finalizers": new},
            "spec": {"containers": [{"$patch": "delete", "name": name} for name in new], "$retainKeys": ["containers"]},
        },
        POD,
    )
    assert made["metadata"]["finalizers"] == old[:half]
    assert [each["name"] for each in made["spec"]["containers"]] == old[:half]
