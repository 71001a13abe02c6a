import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge_cdi import make, refusal, stored

from ingot.api import registry
from ingot.api.cdi import DataImportCronSpec
from ingot.api.cdi.cronspec import normalise

IMAGE = {"registry": {"url": "docker://quay.io/kubevirt/fedora"}}
OTHER = {"registry": {"url": "docker://quay.io/kubevirt/centos"}}
TEMPLATE = {"spec": {"source": IMAGE, "storage": {"resources": {"requests": {"storage": "5Gi"}}}}}
BARE = {"spec": {"source": IMAGE, "storage": {}}}
REST = {"schedule": "30 1 * * 1", "managedDataSource": "fedora"}


def cron(**spec):
    return make("cdi.kubevirt.io/v1beta1", "DataImportCron", spec={**REST, **spec})


def test_names_and_columns_are_those_of_cdi():
    info = registry.find("cdi.kubevirt.io", "DataImportCron")
    assert (info.plural, info.short_names) == ("dataimportcrons", ("dic", "dics"))
    assert info.categories == ("all",)
    assert [column.name for column in info.columns] == ["Format"]


def test_todays_form_is_stored_as_it_is():
    asked = cron(template=TEMPLATE, garbageCollect="Outdated", importsToKeep=2, retentionPolicy="All")
    assert stored(asked) == asked
    spec = DataImportCronSpec.from_object(asked["spec"])
    assert spec.template.spec.source.registry.url == IMAGE["registry"]["url"]
    assert spec.imports_to_keep == 2


@pytest.mark.parametrize(("outdated", "collect"), [(True, "Outdated"), (False, "Never")])
def test_the_older_form_is_stored_as_todays(outdated, collect):
    made = stored(cron(source=IMAGE, garbageCollectOutdated=outdated))
    assert made["spec"] == {**REST, "template": BARE, "garbageCollect": collect}


def test_the_older_form_can_be_applied_again():
    old = stored(cron(source=IMAGE, garbageCollectOutdated=True))
    # What a merge patch makes: the stored object with the manifest's fields added again.
    patched = registry.copy_json(old)
    patched["spec"] |= {"source": IMAGE, "garbageCollectOutdated": True}
    assert stored(patched, old) == old


def test_a_change_in_the_older_form_is_a_change_of_the_spec():
    old = stored(cron(source=IMAGE, garbageCollectOutdated=True))
    for change in ({"source": OTHER}, {"garbageCollectOutdated": False}):
        patched = registry.copy_json(old)
        patched["spec"] |= change
        assert "spec: Cannot update DataImportCron Spec" in refusal(patched, old)


def test_one_that_was_stored_in_the_older_form_can_be_rewritten():
    old = cron(source=IMAGE)
    assert stored(old, old)["spec"] == {**REST, "template": BARE}


def test_an_empty_schedule_waits_to_be_told():
    stored(cron(template=TEMPLATE, schedule=""))


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({}, "spec: exactly one of template and source is expected"),
        ({"template": TEMPLATE, "source": OTHER}, "spec: exactly one of template and source is expected"),
        (
            {"template": TEMPLATE, "garbageCollect": "Never", "garbageCollectOutdated": True},
            "spec: garbageCollect and garbageCollectOutdated exclude each other",
        ),
        ({"template": TEMPLATE, "schedule": "61 * * * *"}, 'spec.schedule: Invalid value: "61 * * * *": minute'),
        ({"template": TEMPLATE, "managedDataSource": ""}, "spec.managedDataSource"),
        ({"template": TEMPLATE, "managedDataSource": "a" * 64}, "spec.managedDataSource"),
        ({"template": TEMPLATE, "importsToKeep": -1}, "spec.importsToKeep"),
        ({"template": TEMPLATE, "garbageCollect": "Always"}, "spec.garbageCollect"),
        ({"source": {"upload": {}}}, "spec.template: a registry or http source is expected"),
        (
            {"template": {"spec": {"sourceRef": {"kind": "DataSource", "name": "a"}, "storage": {}}}},
            "spec.template: a registry or http source is expected",
        ),
        (
            {"template": {"spec": {**BARE["spec"], "contentType": "kubevirt"}}},
            "spec.template: contentType, checkpoints and finalCheckpoint have no meaning",
        ),
        (
            {"source": {"registry": {"url": "quay.io/a"}}},
            'spec.template.spec.source.registry.url: Invalid value: "quay.io/a": an address that starts with docker://',
        ),
    ],
)
def test_specs_that_are_refused(spec, why):
    assert why in refusal(cron(**spec))


def test_schedule_and_data_source_are_required():
    for field in REST:
        asked = cron(template=TEMPLATE)
        del asked["spec"][field]
        assert f"spec.{field}: Required value" in refusal(asked)


def test_a_name_that_labels_cannot_carry_is_refused():
    asked = cron(template=TEMPLATE)
    asked["metadata"]["name"] = "a" * 64
    assert refusal(asked).startswith("metadata.name: a name of at most 63 characters is expected")


def test_the_spec_cannot_change_but_status_can():
    old = cron(template=TEMPLATE)
    assert "spec: Cannot update DataImportCron Spec: delete it" in refusal(cron(template=BARE), old)
    new = registry.copy_json(old)
    new["status"] = {
        "sourceFormat": "pvc",
        "currentImports": [{"DataVolumeName": "fedora-1", "Digest": "sha256:0"}],
        "lastImportedPVC": {"namespace": "here", "name": "fedora-0"},
        "lastImportTimestamp": "2024-01-01T00:00:00Z",
    }
    assert stored(new, old, status=True) == new


def test_the_older_status_is_stored_as_todays():
    old = cron(template=TEMPLATE)
    new = {**old, "status": {"lastImportedPVC": "fedora-v33", "lastImport": "2024-01-01T01:01:01Z"}}
    assert stored(new, old, status=True)["status"] == {
        "lastImportedPVC": {"namespace": "here", "name": "fedora-v33"},
        "lastImportTimestamp": "2024-01-01T01:01:01Z",
    }


def test_a_claim_that_is_none_is_refused():
    old = cron(template=TEMPLATE)
    new = {**old, "status": {"lastImportedPVC": {"name": "a"}}}
    assert "status.lastImportedPVC: Invalid value: a claim is expected" in refusal(new, old, status=True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
SOURCE = st.sampled_from([IMAGE, OTHER]) | JSON
TEMPLATES = st.fixed_dictionaries({}, optional={"spec": st.fixed_dictionaries({}, optional={"source": SOURCE})})
SPECS = (
    st.fixed_dictionaries(
        {},
        optional={
            "source": SOURCE,
            "template": TEMPLATES | JSON,
            "garbageCollect": st.sampled_from(["Outdated", "Never"]) | JSON,
            "garbageCollectOutdated": st.booleans() | JSON,
        },
    )
    | JSON
)


@settings(max_examples=300)
@given(SPECS, st.none() | SPECS)
def test_anything_can_be_normalised_and_twice_is_once(spec, old):
    once = registry.copy_json(spec)
    normalise(once, registry.copy_json(old))
    twice = registry.copy_json(once)
    normalise(twice, old)
    assert twice == once


@given(st.dictionaries(st.sampled_from(["lastImportedPVC", "lastImport", "a"]), JSON) | JSON, SPECS)
def test_admission_takes_anything_and_twice_is_once(status, spec):
    asked = make("cdi.kubevirt.io/v1beta1", "DataImportCron", spec=spec, status=status)
    once = registry.admit(asked, None, "CREATE")
    assert registry.admit(once, None, "CREATE") == once
