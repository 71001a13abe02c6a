import pytest
from hypothesis import given
from hypothesis import strategies as st
from judge_cdi import make, refusal, stored

from ingot.api import registry
from ingot.api.ssp import SSPSpec

IMAGE = {"registry": {"url": "docker://quay.io/kubevirt/fedora"}}
BARE = {"spec": {"source": IMAGE, "storage": {}}}
OLDER = {"metadata": {"name": "fedora-image-cron"}, "spec": {"source": IMAGE, "managedDataSource": "fedora"}}
TODAY = {"metadata": {"name": "fedora-image-cron"}, "spec": {"template": BARE, "managedDataSource": "fedora"}}
PATH = "spec.commonTemplates.dataImportCronTemplates"


def ssp(**spec):
    return make("ssp.kubevirt.io/v1beta1", "SSP", spec=spec)


def common(*templates, **more):
    return ssp(commonTemplates={**more, "dataImportCronTemplates": registry.copy_json(list(templates))})


def test_names_and_columns_are_those_of_ssp():
    info = registry.find("ssp.kubevirt.io", "SSP")
    assert (info.plural, info.singular, info.short_names) == ("ssps", "ssp", ())
    assert [column.name for column in info.columns] == ["Phase"]


def test_todays_form_is_stored_as_it_is():
    asked = common({**TODAY, "spec": {**TODAY["spec"], "schedule": "@daily"}}, namespace="kubevirt")
    asked["spec"] |= {"templateValidator": {"replicas": 1}, "featureGates": {"deployVmConsoleProxy": True}}
    assert stored(asked) == asked
    spec = SSPSpec.from_object(asked["spec"])
    assert spec.common_templates.data_import_cron_templates[0].spec.managed_data_source == "fedora"


def test_a_spec_may_say_nothing():
    asked = ssp()
    assert stored(asked) == asked
    del asked["spec"]
    assert stored(asked) == asked


def test_the_older_list_is_stored_in_todays_place():
    assert stored(ssp(DataImportCronTemplates=[OLDER])) == common(TODAY)
    asked = ssp(DataImportCronTemplates=[OLDER], commonTemplates={"namespace": "kubevirt"})
    assert stored(asked) == common(TODAY, namespace="kubevirt")


def test_older_crons_in_todays_place_are_stored_as_todays():
    assert stored(common(OLDER)) == common(TODAY)


def test_the_older_list_can_be_applied_again_and_changed():
    old = common(TODAY)
    patched = registry.copy_json(old)
    patched["spec"]["DataImportCronTemplates"] = [OLDER]
    assert stored(patched, old) == old
    other = {**OLDER, "metadata": {"name": "other"}}
    patched["spec"]["DataImportCronTemplates"] = [other]
    assert stored(patched, old) == common({**TODAY, "metadata": {"name": "other"}})


@pytest.mark.parametrize("old", [None, common()])
def test_two_lists_at_once_are_refused(old):
    asked = common(TODAY)
    asked["spec"]["DataImportCronTemplates"] = [{**OLDER, "metadata": {"name": "other"}}]
    why = "spec: commonTemplates.dataImportCronTemplates and DataImportCronTemplates exclude each other"
    assert why in refusal(asked, old)


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ({**TODAY, "metadata": {}}, f"{PATH}[0].metadata: Required value: a name is expected"),
        ({"metadata": {"name": "a"}}, "[0].spec: Required value"),
        (
            {"metadata": {"name": "a"}, "spec": {**TODAY["spec"], "schedule": "never"}},
            f'{PATH}[0].spec.schedule: Invalid value: "never": five fields are expected, not 1',
        ),
        (
            {"metadata": {"name": "a"}, "spec": {"managedDataSource": "a"}},
            f"{PATH}[0].spec: exactly one of template and source is expected",
        ),
    ],
)
def test_templates_that_are_refused(template, why):
    assert why in refusal(common(template))


def test_two_of_one_name_are_refused():
    assert f'{PATH}[1].metadata.name: Duplicate value: "fedora-image-cron"' in refusal(common(TODAY, TODAY))
    elsewhere, at_home = (
        {**TODAY, "metadata": {"name": "fedora-image-cron", "namespace": place}}
        for place in ("elsewhere", "golden-images")
    )
    stored(common(TODAY, elsewhere))
    # Where one goes that names no namespace.
    assert f'{PATH}[2].metadata.name: Duplicate value: "fedora-image-cron"' in refusal(
        common(TODAY, elsewhere, at_home)
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
LISTS = st.lists(st.sampled_from([OLDER, TODAY]) | JSON, max_size=3) | JSON
SPECS = (
    st.fixed_dictionaries(
        {},
        optional={
            "DataImportCronTemplates": LISTS,
            "commonTemplates": st.fixed_dictionaries({}, optional={"dataImportCronTemplates": LISTS}) | JSON,
        },
    )
    | JSON
)


@given(SPECS)
def test_admission_takes_anything_and_twice_is_once(spec):
    asked = make("ssp.kubevirt.io/v1beta1", "SSP", spec=spec)
    once = registry.admit(asked, None, "CREATE")
    assert registry.admit(once, None, "CREATE") == once
