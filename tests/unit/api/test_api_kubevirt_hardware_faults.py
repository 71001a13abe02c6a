"""Hardware that its schema accepts and that no guest could have: refused by field, with the cure."""

from typing import Any

import pytest
from judge import instance, refusal, stored

ROOT = {"name": "root", "persistentVolumeClaim": {"claimName": "c"}}


def asked(domain: dict[str, Any] | None = None, devices: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """An instance with one disk and these parts."""
    whole = instance(ROOT, **spec)
    whole["spec"]["domain"]["devices"] |= devices or {}
    whole["spec"]["domain"] |= domain or {}
    return whole


def resources(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"resources": {"requests": requests or {}, "limits": limits or {}}}


@pytest.mark.parametrize(
    ("domain", "field"),
    [
        ({"memory": {"guest": 0}}, "spec.domain.memory.guest"),
        ({"memory": {"guest": "-1Gi"}}, "spec.domain.memory.guest"),
        ({"memory": {"guest": "1Ki"}}, "spec.domain.memory.guest"),
        ({"memory": {"guest": "10E"}}, "spec.domain.memory.guest"),
        (resources({}, {"memory": "10E"}), "spec.domain.resources.limits.memory"),
        ({"memory": {"guest": "2Gi"}, **resources({}, {"memory": "1Gi"})}, "spec.domain.memory.guest"),
        ({"memory": {"guest": "2Gi", "maxGuest": "1Gi"}}, "spec.domain.memory.maxGuest"),
        (resources({"memory": 0}), "spec.domain.resources.requests.memory"),
        (resources({"memory": "2Gi"}, {"memory": "1Gi"}), "spec.domain.resources.requests.memory"),
        (resources({"cpu": 2}, {"cpu": "500m"}), "spec.domain.resources.requests.cpu"),
        (resources({"cpu": -1}), "spec.domain.resources.requests.cpu"),
        (resources({"cpu": "1E6"}), "spec.domain.resources.requests.cpu"),
        ({"cpu": {"sockets": 4, "maxSockets": 2}}, "spec.domain.cpu.sockets"),
        ({"cpu": {"sockets": 65536, "cores": 65536}}, "spec.domain.cpu"),
        ({"memory": {"guest": "3Mi", "hugepages": {"pageSize": "2Mi"}}}, "spec.domain.memory.hugepages.pageSize"),
    ],
)
def test_sizes_are_possible(domain, field):
    assert f"{field}: Invalid value" in refusal(asked(domain))


def test_pages_have_the_sizes_that_processors_have():
    assert 'pageSize: Unsupported value: "3Mi"' in refusal(asked({"memory": {"hugepages": {"pageSize": "3Mi"}}}))


@pytest.mark.parametrize(
    ("domain", "field"),
    [
        ({"machine": {"type": "isapc"}}, "spec.domain.machine.type"),
        ({"machine": {"type": "q35'/>"}}, "spec.domain.machine.type"),
        ({"cpu": {"model": "a b"}}, "spec.domain.cpu.model"),
        ({"cpu": {"features": [{"name": "<"}]}}, "spec.domain.cpu.features[0].name"),
        ({"firmware": {"uuid": "nonsense"}}, "spec.domain.firmware.uuid"),
        ({"firmware": {"serial": "a b"}}, "spec.domain.firmware.serial"),
        ({"firmware": {"kernelBoot": {"kernelArgs": "quiet"}}}, "spec.domain.firmware.kernelBoot.kernelArgs"),
        ({"clock": {"timezone": "Mars/Base"}}, "spec.domain.clock.timezone"),
        ({"clock": {"timezone": "../../etc/passwd"}}, "spec.domain.clock.timezone"),
        ({"firmware": {"bootloader": {"efi": {}}}}, "spec.domain.firmware.bootloader.efi.secureBoot"),
        (
            {"firmware": {"bootloader": {"efi": {}}}, "features": {"smm": {"enabled": False}}},
            "spec.domain.firmware.bootloader.efi.secureBoot",
        ),
    ],
)
def test_platforms_are_possible(domain, field):
    assert f"{field}: Invalid value" in refusal(asked(domain))


def test_architectures_and_video_cards_are_known_ones():
    said = refusal(asked(devices={"video": {"type": "cga"}}, architecture="vax"))
    assert 'spec.architecture: Unsupported value: "vax"' in said
    assert 'spec.domain.devices.video.type: Unsupported value: "cga"' in said


@pytest.mark.parametrize(
    "domain",
    [
        {"machine": {"type": "q35"}, "cpu": {"model": "Haswell-noTSX-IBRS"}},
        {"machine": {"type": "pc-q35-rhel8.6.0"}, "clock": {"timezone": "Europe/Berlin"}},
        {"machine": {"type": "pc-i440fx-2.10"}, "firmware": {"uuid": "5D307CA9-B3EF-428C-8861-06E72D69F223"}},
        {"firmware": {"bootloader": {"efi": {"secureBoot": False}}}},
        {"firmware": {"bootloader": {"efi": {}}}, "features": {"smm": {}}},
        {"memory": {"guest": "1Gi", "maxGuest": "1Gi"}, **resources({"memory": "64M", "cpu": "100m"}, {"cpu": 2})},
    ],
)
def test_ordinary_hardware_is_accepted(domain):
    assert stored(asked(domain))


@pytest.mark.parametrize("text", ["a\x00b", "a\nb", "a\x1fb", "a\ufffeb"])
def test_what_xml_cannot_say_is_refused_wherever_it_is(text):
    assert "spec.domain.chassis.asset: Invalid value" in refusal(asked({"chassis": {"asset": text}}))
    rbd = {"name": "v", "rbd": {"monitors": ["h"], "image": text}}
    assert "spec.volumes[0].rbd.image: Invalid value" in refusal(instance(rbd))


def test_data_for_cloud_init_has_lines():
    assert stored(instance({"name": "v", "cloudInitNoCloud": {"userData": "#cloud-config\n\tx: y\n"}}))
