import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_cdi import make, refusal, stored

from ingot.api import registry
from ingot.api.hco import HyperConvergedSpec

GATE = "enableCommonBootImageImport"
IMAGE = {"registry": {"url": "docker://registry.example/custom"}}
BARE = {"spec": {"source": IMAGE, "storage": {}}}
REST = {"schedule": "0 */12 * * *", "managedDataSource": "custom"}
OLDER = {"metadata": {"name": "custom"}, "spec": {**REST, "source": IMAGE}}
TODAY = {"metadata": {"name": "custom"}, "spec": {**REST, "template": BARE}}
PATH = "spec.dataImportCronTemplates"


def hco(**spec):
    return make("hco.kubevirt.io/v1beta1", "HyperConverged", spec=spec)


def test_names_and_columns_are_those_of_hco():
    info = registry.find("hco.kubevirt.io", "HyperConverged")
    assert (info.plural, info.singular) == ("hyperconvergeds", "hyperconverged")
    assert (info.short_names, info.categories) == (("hco", "hcos"), ("all",))
    assert [column.name for column in info.columns] == ["Age"]


def test_a_manifest_of_hco_is_kept_whole():
    asked = hco(
        certConfig={"ca": {"duration": "48h0m0s"}},
        deployVmConsoleProxy=False,
        featureGates={"alignCPUs": False, GATE: True},
        infra={"nodePlacement": {"nodeSelector": {"a": "b"}}},
        workloads={},
        workloadUpdateStrategy={"workloadUpdateMethods": ["LiveMigrate"]},
        dataImportCronTemplates=[TODAY],
    )
    assert stored(asked) == asked
    assert HyperConvergedSpec.from_object(asked["spec"]).feature_gates[GATE] is True


@pytest.mark.parametrize("gate", [True, False])
def test_the_field_is_stored_as_the_feature_gate(gate):
    assert stored(hco(enableCommonBootImageImport=gate)) == hco(featureGates={GATE: gate})
    both = hco(enableCommonBootImageImport=gate, featureGates={"other": True})
    assert stored(both) == hco(featureGates={"other": True, GATE: gate})


def test_the_field_can_be_applied_again_and_changed():
    old = hco(featureGates={GATE: True})
    assert stored(hco(featureGates={GATE: True}, enableCommonBootImageImport=True), old) == old
    changed = hco(featureGates={GATE: True}, enableCommonBootImageImport=False)
    assert stored(changed, old) == hco(featureGates={GATE: False})


def test_a_field_and_a_gate_that_differ_are_refused():
    asked = hco(enableCommonBootImageImport=True, featureGates={GATE: False})
    assert f"spec: {GATE} and featureGates.{GATE} exclude each other" in refusal(asked)


def test_older_templates_are_stored_as_todays():
    assert stored(hco(dataImportCronTemplates=[OLDER])) == hco(dataImportCronTemplates=[TODAY])


def test_a_common_template_can_be_taken_away():
    taken = {"metadata": {"name": "fedora", "annotations": {"dataimportcrontemplate.kubevirt.io/enable": "false"}}}
    asked = hco(dataImportCronTemplates=[taken])
    assert stored(asked) == asked


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ({"metadata": {"name": "a"}}, f"{PATH}[0].spec: spec is expected, unless the annotation"),
        ({**TODAY, "metadata": {}}, f"{PATH}[0].metadata: Required value: a name is expected"),
        (
            {"metadata": {"name": "a"}, "spec": {"template": BARE, "managedDataSource": "a"}},
            "spec.schedule: Required value",
        ),
        ({"metadata": {"name": "a"}, "spec": {**TODAY["spec"], "schedule": ""}}, "[0].spec.schedule"),
        (
            {"metadata": {"name": "a"}, "spec": {**TODAY["spec"], "schedule": "0 25 * * *"}},
            f'{PATH}[0].spec.schedule: Invalid value: "0 25 * * *": hour has',
        ),
        ({**TODAY, "specs": {}}, f"{PATH}[0].specs: unknown field"),
    ],
)
def test_templates_that_are_refused(template, why):
    assert why in refusal(hco(dataImportCronTemplates=[template]))


def test_two_of_one_name_and_place_are_refused():
    here, there = ({**TODAY, "metadata": {"name": "a", "namespace": place}} for place in ("golden-images", "there"))
    stored(hco(dataImportCronTemplates=[here, there]))
    nowhere = {**TODAY, "metadata": {"name": "a"}}
    assert f'{PATH}[1].metadata.name: Duplicate value: "a"' in refusal(hco(dataImportCronTemplates=[here, nowhere]))


def test_status_keeps_the_schedule_and_what_was_handed_on():
    asked = hco()
    handed = {**TODAY, "status": {"commonTemplate": True, "conditions": [{"type": "Deployed", "status": "True"}]}}
    asked["status"] = {"dataImportSchedule": "42 */12 * * *", "dataImportCronTemplates": [handed]}
    assert stored(asked, asked, status=True) == asked


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
SPECS = (
    st.fixed_dictionaries(
        {},
        optional={
            GATE: st.booleans() | JSON,
            "featureGates": st.fixed_dictionaries({}, optional={GATE: st.booleans() | JSON, "a": JSON}) | JSON,
            "dataImportCronTemplates": st.lists(st.sampled_from([OLDER, TODAY]) | JSON, max_size=3) | JSON,
        },
    )
    | JSON
)


@given(SPECS)
def test_admission_takes_anything_and_twice_is_once(spec):
    asked = make("hco.kubevirt.io/v1beta1", "HyperConverged", spec=spec)
    once = registry.admit(asked, None, "CREATE")
    assert registry.admit(once, None, "CREATE") == once
