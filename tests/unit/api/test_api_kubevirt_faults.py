"""Machines that their schemas accept and that are refused, and what admission fills in."""

import pytest
from judge import instance, made, refusal, stored

CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}
ROOT = {"name": "root", **CLAIM}


def machine(template=None, **spec):
    template = template or instance(ROOT)["spec"]
    return made("VirtualMachine", {"template": {"spec": template}, **spec})


def replicas(labels, selector, **spec):
    template = {"metadata": {"labels": labels}, "spec": instance(ROOT)["spec"]}
    return made("VirtualMachineInstanceReplicaSet", {"selector": selector, "template": template, **spec})


def _expressions(key, operator, *values):
    given = {"values": list(values)} if values else {}
    return {"matchExpressions": [{"key": key, "operator": operator, **given}]}


def test_a_disk_has_a_volume():
    said = refusal(instance(ROOT, disks=[{"name": "root"}, {"name": "rot"}]))
    assert said == ('spec.domain.devices.disks[1].name: Invalid value: "rot": no volume has this name (root)')


def test_a_drive_may_be_empty():
    assert stored(instance(disks=[{"name": "drive", "cdrom": {}}]))


@pytest.mark.parametrize("key", ["disks", "volumes"])
def test_names_are_unique(key):
    twice = instance(ROOT)
    where = twice["spec"] if key == "volumes" else twice["spec"]["domain"]["devices"]
    where[key] *= 2
    assert f"{key}[1]: Duplicate value" in refusal(twice)


def test_a_disk_is_one_device():
    disks = [{"name": "root", "disk": {}, "lun": {}}]
    assert "disk, cdrom and lun exclude each other" in refusal(instance(ROOT, disks=disks))


def test_boot_orders_are_unique_among_disks_and_interfaces():
    asked = instance(ROOT, disks=[{"name": "root", "bootOrder": 1}], networks=[{"name": "n", "pod": {}}])
    asked["spec"]["domain"]["devices"]["interfaces"] = [{"name": "n", "bridge": {}, "bootOrder": 1}]
    assert "spec.domain.devices.interfaces[0].bootOrder: Invalid value: 1" in refusal(asked)


def test_interfaces_and_networks_belong_together():
    asked = instance(ROOT, networks=[{"name": "n", "pod": {}}])
    asked["spec"]["domain"]["devices"]["interfaces"] = [{"name": "m", "bridge": {}}]
    said = refusal(asked)
    assert "spec.domain.devices.interfaces[0].name" in said
    assert "spec.networks[0].name" in said


@pytest.mark.parametrize("spec", [{}, {"running": True, "runStrategy": "Always"}])
def test_a_machine_says_once_whether_it_runs(spec):
    said = refusal(machine(**spec))
    assert said.startswith("spec: ")
    assert "exactly one of running and runStrategy is needed" in said


@pytest.mark.parametrize("spec", [{"running": False}, {"runStrategy": "RerunOnFailure"}])
def test_ways_to_run(spec):
    assert stored(machine(**spec))["spec"].items() >= spec.items()


def test_faults_of_a_template_have_its_path():
    template = instance({"name": "a", "networkVolume": {"uri": "nbd://h:0/", "format": "raw"}})["spec"]
    assert "spec.template.spec.volumes[0].networkVolume.uri" in refusal(machine(template, runStrategy="Always"))


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (
            {"metadata": {}, "spec": {"pvc": {"accessModes": ["ReadWriteOnce"]}, "source": {"blank": {}}}},
            "spec.dataVolumeTemplates[0].metadata.name: Required value",
        ),
        (
            {"metadata": {"name": "d"}, "spec": {"storage": {}, "source": {"http": {"url": "ftp://h"}}}},
            "spec.dataVolumeTemplates[0].spec.source.http.url",
        ),
        (
            {"metadata": {"name": "D"}, "spec": {"storage": {}, "source": {"blank": {}}}},
            "spec.dataVolumeTemplates[0].metadata.name: Invalid value",
        ),
    ],
)
def test_faults_of_data_volume_templates(template, said):
    assert said in refusal(machine(running=True, dataVolumeTemplates=[template]))


def test_a_replica_set_has_one_replica_unless_told():
    asked = replicas({"a": "b"}, {"matchLabels": {"a": "b"}})
    assert stored(asked)["spec"]["replicas"] == 1


@pytest.mark.parametrize(
    ("selector", "field"),
    [
        ({}, "spec.selector: Required value"),
        ({"matchLabels": {"a": "c"}}, "spec.template.metadata.labels: Invalid value"),
        (_expressions("a", "In", "c", "d"), "`selector` does not match template `labels`: a in (c,d) has to hold"),
        (_expressions("a", "NotIn", "b"), "spec.template.metadata.labels: Invalid value"),
        (_expressions("a", "DoesNotExist"), "spec.template.metadata.labels: Invalid value"),
        (_expressions("x", "Exists"), "spec.template.metadata.labels: Invalid value"),
        (_expressions("a", "In"), "spec.selector.matchExpressions[0].values: Required value"),
        (_expressions("a", "Exists", "b"), "spec.selector.matchExpressions[0].values: Forbidden"),
        (_expressions("a", "Like", "b"), "spec.selector.matchExpressions[0].operator: Invalid value"),
    ],
)
def test_a_selector_fits_the_template(selector, field):
    assert field in refusal(replicas({"a": "b"}, selector))


@pytest.mark.parametrize(
    "selector", [_expressions("a", "In", "b"), _expressions("a", "Exists"), _expressions("z", "NotIn", "b")]
)
def test_a_selector_may_be_of_expressions(selector):
    assert stored(replicas({"a": "b"}, selector))


def test_a_selector_stays():
    old = stored(replicas({"a": "b", "c": "d"}, {"matchLabels": {"a": "b"}}))
    assert "selector cannot be changed" in refusal(replicas({"a": "b", "c": "d"}, {"matchLabels": {"c": "d"}}), old)


def test_a_volume_without_a_disk_gets_one():
    asked = instance(ROOT, {"name": "extra", **CLAIM}, {"name": "dump", "memoryDump": {"claimName": "c"}}, disks=[])
    asked["spec"]["domain"]["devices"] |= {"filesystems": [{"name": "extra", "virtiofs": {}}]}
    assert stored(asked)["spec"]["domain"]["devices"]["disks"] == [{"name": "root"}]


def test_a_network_card_is_there_unless_told():
    asked = instance(ROOT)
    del asked["spec"]["domain"]["devices"]["autoattachPodInterface"]
    kept = stored(asked)["spec"]
    assert kept["domain"]["devices"]["interfaces"] == [{"name": "default", "masquerade": {}}]
    assert kept["networks"] == [{"name": "default", "pod": {}}]
    assert "interfaces" not in stored(instance(ROOT))["spec"]["domain"]["devices"]


def test_a_running_machine_stays_as_it_is_but_for_its_time_to_stop():
    old = stored(instance(ROOT))
    said = refusal(instance(ROOT, disks=[], hostname="other"), old)
    assert said.startswith("spec.domain: Forbidden: update of VMI object is restricted")
    assert "spec.hostname: Forbidden" in said
    assert stored(instance(ROOT, terminationGracePeriodSeconds=3), old)["spec"]["terminationGracePeriodSeconds"] == 3
    labelled = instance(ROOT)
    labelled["metadata"]["labels"] = {"a": "b"}
    assert stored({**labelled, "status": {"phase": "Running"}}, old)


def test_a_template_is_left_as_it_is():
    template = {"domain": {"devices": {}}, "volumes": [ROOT]}
    assert stored(machine(template, runStrategy="Always"))["spec"]["template"]["spec"] == template


@pytest.mark.parametrize(
    ("labels", "field"), [({"a b": "c"}, "labels: Invalid value"), ({"a": "b c"}, "labels[a]: Invalid value")]
)
def test_labels_of_a_template_are_labels(labels, field):
    template = {"metadata": {"labels": labels}, "spec": instance(ROOT)["spec"]}
    said = refusal(made("VirtualMachine", {"runStrategy": "Always", "template": template}))
    assert said.startswith(f"spec.template.metadata.{field}")
