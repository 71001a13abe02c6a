import sys
from functools import reduce

import pytest
from judge_cdi import make, refusal, stored

from ingot.api import registry
from ingot.api.status import ApiError
from ingot.api.template import Template

MACHINE = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "${NAME}", "labels": {"app": "${NAME}"}},
    "spec": {"running": "${{RUNNING}}", "anything": [1, {"a": None}]},
}
NAME = {"name": "NAME", "generate": "expression", "from": "fedora-[a-z0-9]{16}", "displayName": "Name"}


def nested(levels):
    return reduce(lambda inner, _: {"a": inner}, range(levels), "x")


def template(**fields):
    return make("template.openshift.io/v1", "Template", **{"objects": [MACHINE], **fields})


def test_a_template_is_stored_as_it_is():
    asked = template(
        message="${NAME} is there",
        parameters=[NAME, {"name": "RUNNING", "value": "false", "required": True, "description": "Whether"}],
        labels={"template": "fedora"},
    )
    assert stored(asked) == asked
    read = Template.from_object(asked)
    assert read.parameters[0].expression == "fedora-[a-z0-9]{16}"
    assert read.to_object() == asked


def test_names_are_those_of_openshift():
    info = registry.find("template.openshift.io", "Template")
    assert (info.plural, info.singular, info.namespaced) == ("templates", "template", True)
    assert [version.name for version in info.versions] == ["v1"]
    assert info.status is False


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"objects": [{}]}, "objects[0].apiVersion: Required value: the object's apiVersion is expected"),
        ({"objects": [MACHINE, {"apiVersion": "v1"}]}, "objects[1].kind: Required value"),
        ({"parameters": [{"name": "A B"}]}, "parameters[0].name"),
        ({"parameters": [{"name": "A", "generate": "magic"}]}, "parameters[0].generate"),
        ({"parameters": [{"name": "A", "generate": "expression"}]}, "parameters[0].generate: generate needs from"),
        ({"paramters": []}, "paramters: unknown field"),
        (
            {"objects": [MACHINE, {**MACHINE, "spec": nested(100)}]},
            "objects[1]: Invalid value: objects and lists are nested more than 100 levels deep",
        ),
    ],
)
def test_templates_that_are_refused(fields, why):
    assert why in refusal(template(**fields))


def test_what_nests_without_end_is_refused_before_it_is_looked_at():
    with pytest.raises(ApiError, match="nested too deep") as told:
        registry.admit(template(objects=[{**MACHINE, "spec": nested(sys.getrecursionlimit())}]), None, "CREATE")
    assert told.value.code == 400


def test_objects_are_required():
    asked = template()
    del asked["objects"]
    assert "objects: Required value" in refusal(asked)
