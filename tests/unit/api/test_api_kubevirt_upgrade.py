"""From v1alpha1's shapes to the stored ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judge import ALPHA, judge, made, refusal, stored

from ingot.api import registry
from ingot.api.kubevirt.alpha import keeps_old_rules

CLAIM = {"source": {"pvc": {"claimname": "c"}}}


def upgraded(*disks, volumes=None):
    spec = {"domain": {"devices": {"disks": list(disks)}}}
    if volumes is not None:
        spec["volumes"] = volumes
    kept = registry.convert(made("VM", spec, ALPHA), "v1")["spec"]
    return kept["domain"]["devices"]["disks"], kept.get("volumes")


def host(name, port=None):
    return {"name": name} if port is None else {"name": name, "port": port}


@pytest.mark.parametrize(
    ("source", "volume"),
    [
        ({"pvc": {"claimName": "c"}}, {"persistentVolumeClaim": {"claimName": "c"}}),
        (
            {"iscsi": {"host": host("h"), "portal": "iqn.2017-01.io:x"}},
            {"iscsi": {"targetPortal": "h", "iqn": "iqn.2017-01.io:x", "lun": 0, "format": "raw"}},
        ),
        (
            {"iscsi": {"host": host("h", 99), "portal": "iqn.2017-01.io:x", "lun": 1, "secretRef": {"name": "s"}}},
            {
                "iscsi": {
                    "targetPortal": "h:99",
                    "iqn": "iqn.2017-01.io:x",
                    "lun": 1,
                    "format": "raw",
                    "secretRef": {"name": "s"},
                }
            },
        ),
        (
            {"rbd": {"host": host("m", "6789"), "image": "i"}},
            {"rbd": {"monitors": ["m:6789"], "image": "i", "pool": "rbd", "user": "admin", "format": "raw"}},
        ),
        (
            {"nbd": {"host": host("n", "10810"), "export": "a/B"}},
            {"nbd": {"host": "n", "port": 10810, "export": "a/B", "tls": False, "format": "raw"}},
        ),
        (
            {"gluster": {"host": host("g"), "volume": "v", "path": "p"}},
            {"gluster": {"host": "g", "port": 24007, "volume": "v", "path": "p", "format": "raw"}},
        ),
        ({"http": {"url": "http://web/x"}}, {"http": {"url": "http://web/x", "format": "raw"}}),
        (
            {"container": {"image": "i", "env": [{"name": "A", "value": "b"}]}},
            {"container": {"image": "i", "env": [{"name": "A", "value": "b"}]}},
        ),
    ],
)
def test_every_source(source, volume):
    kept = stored(made("VM", {"domain": {"devices": {"disks": [{"source": source}]}}}, ALPHA))
    assert kept["spec"]["volumes"] == [{"name": "disk-0", **volume}]


@pytest.mark.parametrize(
    ("target", "device"),
    [
        ({"device": "sda"}, {"name": "sda", "disk": {"bus": "scsi"}}),
        ({"device": "vdb"}, {"name": "vdb", "disk": {"bus": "virtio"}}),
        ({"device": "hda"}, {"name": "hda", "disk": {"bus": "sata"}}),
        ({"device": "hda", "bus": "ide"}, {"name": "hda", "disk": {"bus": "sata"}}),
        ({"device": "sda", "bus": "usb"}, {"name": "sda", "disk": {"bus": "usb"}}),
        ({"bus": "virtio"}, {"name": "disk-0", "disk": {"bus": "virtio"}}),
        ({}, {"name": "disk-0"}),
    ],
)
def test_the_target_gives_name_and_bus(target, device):
    disks, _ = upgraded({**CLAIM, "target": target})
    assert disks == [device]


def test_what_else_a_disk_says_is_kept():
    disks, _ = upgraded({**CLAIM, "cdrom": {"tray": "open"}, "bootOrder": 1, "target": {"device": "sda"}})
    assert disks == [{"name": "sda", "cdrom": {"bus": "scsi", "tray": "open"}, "bootOrder": 1}]


def test_names_are_unique_and_follow_the_order():
    present = {"name": "sda", "disk": {}}
    disks, volumes = upgraded(
        {**CLAIM, "target": {"device": "sda"}},
        present,
        {**CLAIM, "target": {"device": "sda"}},
        {**CLAIM, "name": "mine"},
        CLAIM,
        volumes=[{"name": "sda", "emptyDisk": {"capacity": 1}}, {"name": "disk-4", "emptyDisk": {"capacity": 1}}],
    )
    assert [disk["name"] for disk in disks] == ["sda-2", "sda", "sda-3", "mine", "disk-4"]
    assert [volume["name"] for volume in volumes] == ["sda", "disk-4", "sda-2", "sda-3", "mine"]
    # No present disk uses it, so it is what the last disk had before.
    assert volumes[1] == {"name": "disk-4", "persistentVolumeClaim": {"claimName": "c"}}


def test_a_machine_without_a_template_gets_one():
    spec = {"domain": {"devices": {}}, "nodeSelector": {"a": "b"}, "instancetype": {"name": "small"}, "running": False}
    kept = stored(made("VirtualMachine", spec, ALPHA))["spec"]
    assert kept == {
        "running": False,
        "instancetype": {"name": "small"},
        "template": {"spec": {"domain": {"devices": {}}, "nodeSelector": {"a": "b"}}},
    }


def test_a_machine_with_a_template_has_its_disks_upgraded():
    template = {"spec": {"domain": {"devices": {"disks": [CLAIM]}}}}
    kept = stored(made("VirtualMachine", {"runStrategy": "Manual", "template": template}, ALPHA))["spec"]
    assert kept["runStrategy"] == "Manual"
    assert kept["template"]["spec"]["volumes"] == [{"name": "disk-0", "persistentVolumeClaim": {"claimName": "c"}}]


@pytest.mark.parametrize(
    ("disk", "said"),
    [
        ({}, "a disk needs a source, or the name of a volume"),
        ({"name": "a", "target": {"device": "sda"}}, "go with a source"),
        ({"source": {}}, "exactly one of container, gluster"),
        ({"source": {"name": "c"}}, "exactly one of container, gluster"),
        ({"source": {**CLAIM["source"], "http": {"url": "http://h"}}}, "exactly one of container, gluster"),
        ({"type": "PersistentVolumeClaim", **CLAIM}, "a source has a name, with a type"),
        ({"type": "File", "source": {"name": "x"}}, "disks[0].type"),
        ({**CLAIM, "target": {"device": "eth0"}}, "disks[0].target.device"),
        ({**CLAIM, "target": "sda"}, "disks[0].target"),
        ({**CLAIM, "access-mode": "mine"}, "disks[0].access-mode"),
        ({**CLAIM, "copy": {"mode": "deep"}}, "disks[0].copy.mode"),
        ({"source": {"nbd": {"host": {"name": "h", "port": "nbd"}}}}, "disks[0].source.nbd.host.port"),
        ({"source": {"pvc": {}}}, "claimname is needed"),
        ({**CLAIM, "sauce": 1}, "disks[0].sauce: unknown field"),
    ],
)
def test_faults_are_told_where_they_were_written(disk, said):
    assert said in refusal(made("VM", {"domain": {"devices": {"disks": [disk]}}}, ALPHA))


def test_the_old_shape_is_not_taken_as_v1():
    assert "unknown field" in refusal(made("VM", {"domain": {"devices": {"disks": [{"name": "a", **CLAIM}]}}}))


def test_a_machine_has_a_template_or_a_domain():
    assert "a template or a domain is needed" in refusal(made("VirtualMachine", {"running": True}, ALPHA))


def merged(live, patch):
    """What `kubectl apply` asks for when a manifest is applied again: its fields over the live ones, lists whole."""
    if isinstance(live, dict) and isinstance(patch, dict):
        return {**live, **{key: merged(live.get(key), value) for key, value in patch.items()}}
    return patch


@pytest.mark.parametrize("kind", ["VM", "VirtualMachineInstance", "VirtualMachine"])
def test_an_old_manifest_can_be_applied_again(kind):
    claim = {**CLAIM, "access-mode": "read-shared"}
    old = [{**claim, "target": {"device": "sda"}}, claim, {**claim, "target": {"device": "sda"}}]
    asked = made(kind, {"domain": {"devices": {"disks": old}}, "nodeSelector": {"a": "b"}}, ALPHA)
    once = stored(asked)
    again = registry.convert(once, "v1alpha1")
    assert stored(merged(again, asked), once) == once


def test_an_old_manifest_can_be_changed_and_applied_again():
    asked = made("VirtualMachine", {"domain": {"devices": {"disks": [CLAIM]}}}, ALPHA)
    once = stored(asked)
    # Someone else's change, which the manifest says nothing of.
    once["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "1Gi"}
    asked["spec"]["domain"]["devices"]["disks"] = [{"source": {"pvc": {"claimname": "d"}}}]
    kept = stored(merged(registry.convert(once, "v1alpha1"), asked), once)["spec"]["template"]["spec"]
    assert kept["domain"] == {"devices": {"disks": [{"name": "disk-0"}]}, "memory": {"guest": "1Gi"}}
    assert kept["volumes"] == [{"name": "disk-0", "persistentVolumeClaim": {"claimName": "d"}}]


names = st.sampled_from(["a", "b", "sda", "disk-0", "disk-1"])
hosts = st.fixed_dictionaries(
    {"name": names}, optional={"port": st.integers(1, 65535) | st.sampled_from(["3260", "80"])}
)
sources = st.one_of(
    st.fixed_dictionaries({"pvc": st.fixed_dictionaries({"claimname": names})}),
    st.fixed_dictionaries({"pvc": st.fixed_dictionaries({"claimName": names})}),
    st.fixed_dictionaries(
        {
            "iscsi": st.fixed_dictionaries(
                {"host": hosts, "portal": st.just("iqn.2017-01.io:x")}, optional={"lun": st.integers(0, 9)}
            )
        },
        optional={"lun": st.integers(0, 9)},
    ),
    st.fixed_dictionaries({"nbd": st.fixed_dictionaries({"host": hosts}, optional={"export": names})}),
    st.fixed_dictionaries({"rbd": st.fixed_dictionaries({"host": hosts, "image": names})}),
    st.fixed_dictionaries({"container": st.fixed_dictionaries({"image": names, "workingDir": names})}),
)
rest = {
    "name": names,
    "target": st.fixed_dictionaries(
        {}, optional={"device": st.sampled_from(["sda", "vdb", "hdc"]), "bus": st.sampled_from(["ide", "virtio"])}
    ),
    "access-mode": st.sampled_from(["read-only", "write-shared"]),
    "copy": st.fixed_dictionaries({"mode": st.sampled_from(["clone", "copy-on-read"])}, optional={"usage-type": names}),
    "bootOrder": st.integers(1, 9),
}
typed = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["PersistentVolumeClaim", "ContainerRegistryDisk:v1alpha"]),
        "source": st.fixed_dictionaries({"name": names}),
    },
    optional={**rest, "driver": st.fixed_dictionaries({"name": st.sampled_from(["qemu", "kubelet"])})},
)
untyped = st.fixed_dictionaries({"source": sources}, optional=rest)
present = st.fixed_dictionaries({"name": names, "cdrom": st.just({})})
specs = st.fixed_dictionaries(
    {
        "domain": st.fixed_dictionaries(
            {"devices": st.fixed_dictionaries({"disks": st.lists(typed | untyped | present)})}
        )
    },
    optional={
        "volumes": st.lists(
            st.fixed_dictionaries({"name": names, "emptyDisk": st.just({"capacity": "1Gi"})}),
            unique_by=lambda volume: volume["name"],
        )
    },
)


@given(specs, st.sampled_from(["VM", "VirtualMachineInstance", "VirtualMachine"]))
def test_once_is_as_twice_and_nothing_is_lost_on_the_way_back(spec, kind):
    asked = made(kind, spec, ALPHA)
    once = registry.convert(asked, "v1")
    again = registry.convert(once, "v1alpha1")
    assert again == {**once, "apiVersion": ALPHA}
    assert registry.convert(again, "v1") == once
    assert registry.convert(asked, "v1") == once


@given(specs)
def test_every_old_disk_becomes_a_disk_with_a_volume(spec):
    before = spec["domain"]["devices"]["disks"]
    disks, volumes = upgraded(*registry.copy_json(before), volumes=spec.get("volumes", []))
    old = [index for index, disk in enumerate(before) if "source" in disk]
    assert all(keeps_old_rules(before[index]) for index in old)
    assert len(disks) == len(before)
    names = [volume["name"] for volume in volumes]
    assert {volume["name"] for volume in spec.get("volumes", [])} <= set(names)
    assert len({disks[index]["name"] for index in old}) == len(old)
    assert len(set(names)) == len(names)
    assert {disks[index]["name"] for index in old} <= set(names)
    assert not any("source" in disk for disk in disks)


@given(specs)
@settings(max_examples=40)
def test_what_v1alpha1_accepts_is_accepted_as_it_is_stored(spec):
    kept, faults = judge(made("VM", spec, ALPHA))
    if faults:
        return
    again, faults = judge(kept, kept)
    assert (again, faults) == (kept, [])
