"""The libvirt domain of an instance."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, fromstring

import pytest

from ingot.node.domain.document import LONGEST_NAME, Host, domain_name, domain_uuid, domain_xml, instance_uid
from ingot.node.domain.support import unsupported
from ingot.node.domain.threads import io_threads

TCG = Host("tcg", "qemu64")
CONSOLE = Path("/run/console")


def instance(
    domain: dict[str, Any] | None = None, devices: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    metadata = {"namespace": "lab", "name": "web", "uid": "0f2b"}
    whole = {"devices": devices or {}, **(domain or {})}
    return {"metadata": metadata, "spec": {"domain": whole, **spec}}


def rendered(vmi: dict[str, Any], *disks: Element, host: Host = TCG) -> Element:
    return fromstring(domain_xml(vmi, host, disks, CONSOLE))


def test_a_domain_is_found_by_the_names_of_its_instance() -> None:
    root = rendered(instance())
    assert root.findtext("name") == "lab_web"
    assert root.get("type") == "qemu"
    assert instance_uid(ElementTree.tostring(root, encoding="unicode")) == "0f2b"


def test_a_foreign_domain_belongs_to_no_instance() -> None:
    assert instance_uid("<domain><name>x</name></domain>") == ""


def test_names_longer_than_a_file_name_are_cut_and_stay_apart() -> None:
    long = instance()
    long["metadata"]["name"] = "a" * 253
    assert len(domain_name(long)) <= LONGEST_NAME
    assert domain_name(long).endswith("-0f2b")


def test_the_uuid_is_the_given_one_or_the_same_at_every_start() -> None:
    assert domain_uuid(instance()) == domain_uuid(instance())
    other = instance()
    other["metadata"]["namespace"] = "prod"
    assert domain_uuid(other) != domain_uuid(instance())
    given = "11111111-2222-3333-4444-555555555555"
    assert domain_uuid(instance({"firmware": {"uuid": given}})) == given


def test_memory_and_cpus_are_those_of_the_spec() -> None:
    root = rendered(instance({"memory": {"guest": "1Gi"}, "cpu": {"cores": 2, "sockets": 2, "model": "Haswell"}}))
    assert (root.findtext("memory"), root.find("memory").attrib) == ("1073741824", {"unit": "b"})
    assert root.findtext("vcpu") == "4"
    assert root.findtext("cpu/model") == "Haswell"
    assert root.find("cpu/topology").attrib == {"sockets": "2", "cores": "2", "threads": "1"}


def test_kvm_is_used_where_the_node_has_it() -> None:
    root = rendered(instance(), host=Host("kvm", "host-passthrough"))
    assert (root.get("type"), root.find("cpu").get("mode")) == ("kvm", "host-passthrough")


def test_the_console_is_a_socket_and_the_display_has_none() -> None:
    root = rendered(instance())
    assert root.find("devices/serial/source").attrib == {"mode": "bind", "path": str(CONSOLE)}
    assert root.find("devices/graphics/listen").attrib == {"type": "none"}


def test_what_is_not_wanted_is_not_there() -> None:
    root = rendered(instance(devices={"autoattachSerialConsole": False, "autoattachGraphicsDevice": False}))
    assert root.find("devices/serial") is None
    assert root.find("devices/graphics") is None


def test_scsi_disks_get_their_controller_and_others_do_not() -> None:
    disk = fromstring("<disk><target dev='sda' bus='scsi'/></disk>")
    assert rendered(instance(), disk).find("devices/controller").get("model") == "virtio-scsi"
    other = fromstring("<disk><target dev='vda' bus='virtio'/></disk>")
    assert rendered(instance(), other).find("devices/controller") is None


def test_there_are_as_many_io_threads_as_disks_use() -> None:
    disk = fromstring("<disk><driver iothread='3'/><target dev='vda' bus='virtio'/></disk>")
    assert rendered(instance(), disk).findtext("iothreads") == "3"
    assert rendered(instance({"ioThreadsPolicy": "shared"})).findtext("iothreads") == "1"
    assert rendered(instance()).find("iothreads") is None


@pytest.mark.parametrize(
    ("policy", "numbers"),
    [
        ({}, {"own": 1}),
        ({"ioThreadsPolicy": "shared"}, {"a": 1, "b": 1, "c": 1, "own": 2}),
        ({"ioThreadsPolicy": "auto"}, {"a": 1, "b": 2, "c": 1, "own": 3}),
        ({"ioThreadsPolicy": "auto", "cpu": {"cores": 8}}, {"a": 1, "b": 2, "c": 3, "own": 4}),
    ],
)
def test_disks_have_threads_of_their_own_or_of_the_policy(policy: dict[str, Any], numbers: dict[str, int]) -> None:
    disks: list[dict[str, Any]] = [{"name": name} for name in "abc"]
    disks += [{"name": "drive", "cdrom": {}}, {"name": "own", "dedicatedIOThread": True}]
    assert io_threads(instance(policy)["spec"], disks) == numbers


def test_efi_without_secure_boot_is_asked_for_as_such() -> None:
    root = rendered(instance({"firmware": {"bootloader": {"efi": {"secureBoot": False}}}}))
    assert root.find("os").get("firmware") == "efi"
    assert root.find("os/firmware/feature").attrib == {"enabled": "no", "name": "secure-boot"}


@pytest.mark.parametrize(
    ("domain", "devices", "field"),
    [
        ({"cpu": {"dedicatedCpuPlacement": True}}, {}, "spec.domain.cpu.dedicatedCpuPlacement"),
        ({"memory": {"hugepages": {"pageSize": "2Mi"}}}, {}, "spec.domain.memory.hugepages"),
        ({"firmware": {"kernelBoot": {"container": {"image": "k"}}}}, {}, "spec.domain.firmware.kernelBoot"),
        ({}, {"gpus": [{"name": "g"}]}, "spec.domain.devices.gpus"),
        ({}, {"tpm": {}}, "spec.domain.devices.tpm"),
        ({}, {"interfaces": [{"name": "a", "bridge": {}}]}, "spec.domain.devices.interfaces[0]"),
        ({}, {"clientPassthrough": {}}, "spec.domain.devices.clientPassthrough"),
        ({}, {"disks": [{"name": "a"}, {"name": "b", "tag": "t"}]}, "spec.domain.devices.disks[1].tag"),
        ({}, {"watchdog": {"name": "w", "diag288": {}}}, "spec.domain.devices.watchdog.diag288"),
        ({"ioThreadsPolicy": "supplementalPool"}, {}, "spec.domain.ioThreadsPolicy"),
        ({"memory": {"guest": "1Gi", "maxGuest": "2Gi"}}, {}, "spec.domain.memory.maxGuest"),
        ({"cpu": {"sockets": 1, "maxSockets": 4}}, {}, "spec.domain.cpu.maxSockets"),
        (
            {"firmware": {"bootloader": {"efi": {"persistent": True}}}},
            {},
            "spec.domain.firmware.bootloader.efi.persistent",
        ),
    ],
)
def test_what_a_node_cannot_do_is_told_by_its_field(
    domain: dict[str, Any], devices: dict[str, Any], field: str
) -> None:
    assert [each.partition(":")[0] for each in unsupported(instance(domain, devices)["spec"])] == [field]


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"readinessProbe": {"guestAgentPing": {}}}, "spec.readinessProbe"),
        ({"accessCredentials": [{"userPassword": {}}]}, "spec.accessCredentials[0].userPassword"),
        ({"utilityVolumes": [{"name": "u", "claimName": "c"}]}, "spec.utilityVolumes"),
        ({"networks": [{"name": "n", "multus": {"networkName": "x"}}]}, "spec.networks[0].multus"),
    ],
)
def test_what_is_asked_for_beside_the_domain_is_told_too(part: dict[str, Any], field: str) -> None:
    assert [each.partition(":")[0] for each in unsupported(instance(**part)["spec"])] == [field]


def card(**options: Any) -> dict[str, Any]:
    return {"interfaces": [{"name": "n", "masquerade": {}, **options}]}


def test_a_card_has_its_place_its_number_and_the_addresses_of_its_network() -> None:
    pod = {"vmNetworkCIDR": "10.9.0.1/16", "vmIPv6NetworkCIDR": "fd10:0:2::/64"}
    asked = instance(devices=card(pciAddress="0000:03:00.0", acpiIndex=4), networks=[{"name": "n", "pod": pod}])
    found = rendered(asked).find("devices/interface")
    assert [each.attrib for each in found.findall("ip")] == [
        {"family": "ipv4", "address": "10.9.0.0", "prefix": "16"},
        {"family": "ipv6", "address": "fd10:0:2::", "prefix": "64"},
    ]
    assert found.find("acpi").attrib == {"index": "4"}
    place = {"type": "pci", "domain": "0x0000", "bus": "0x03", "slot": "0x00", "function": "0x0"}
    assert found.find("address").attrib == place


def test_the_guests_agent_has_a_port_beside_the_console() -> None:
    channel = rendered(instance()).find("devices/channel")
    assert channel.find("source").attrib == {"mode": "bind", "path": str(CONSOLE.with_name("agent"))}
    assert channel.find("target").attrib == {"type": "virtio", "name": "org.qemu.guest_agent.0"}


def test_an_input_device_is_attached_where_none_is_named() -> None:
    assert rendered(instance(devices={"autoattachInputDevice": True})).find("devices/input").get("type") == "tablet"
    named = {"autoattachInputDevice": True, "inputs": [{"name": "k", "type": "keyboard"}]}
    assert [each.get("type") for each in rendered(instance(devices=named)).findall("devices/input")] == ["keyboard"]
    assert rendered(instance()).find("devices/input") is None


def test_old_virtio_is_spoken_by_all_virtio_devices() -> None:
    disks = [
        fromstring("<disk><target dev='vda' bus='virtio'/></disk>"),
        fromstring("<disk><target dev='sda' bus='scsi'/></disk>"),
    ]
    asked = {**card(), "rng": {}, "useVirtioTransitional": True}
    found = rendered(instance(devices=asked), *disks).find("devices")
    old = "virtio-transitional"
    assert [each.get("model") for each in found.findall("disk")] == [old, None]
    assert {found.find(tag).get("model") for tag in ("controller", "rng", "memballoon")} == {old}
    assert found.find("interface/model").get("type") == old


def test_features_have_their_options() -> None:
    hyperv = {"synictimer": {"direct": {}}, "tlbflush": {"enabled": False}}
    asked = {"features": {"apic": {"endOfInterrupt": True}, "hyperv": hyperv}, "clock": {"timer": {"hyperv": {}}}}
    whole = rendered(instance(asked), host=Host("kvm", "host-model"))
    found = whole.find("features")
    assert whole.find("clock/timer").get("name") == "hypervclock"
    assert found.find("apic").attrib == {"eoi": "on"}
    assert found.find("hyperv/stimer/direct").attrib == {"state": "on"}
    assert found.find("hyperv/tlbflush").attrib == {"state": "off"}
    # What an emulated CPU cannot have, it goes without: the guest is only slower.
    emulated = rendered(instance(asked))
    assert (emulated.find("features/hyperv"), emulated.find("clock/timer")) == (None, None)


def test_an_ordinary_machine_is_supported() -> None:
    devices = {**card(), "rng": {}, "disks": [{"name": "root", "disk": {}}]}
    domain = {"memory": {"guest": "1Gi", "maxGuest": "1Gi"}, "ioThreadsPolicy": "shared"}
    assert unsupported(instance(domain, devices, networks=[{"name": "n", "pod": {}}])["spec"]) == []
    devices = {"interfaces": [{"name": "default", "masquerade": {}}], "rng": {}}
    assert unsupported(instance(devices=devices, networks=[{"name": "default", "pod": {}}])["spec"]) == []
