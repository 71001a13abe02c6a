"""Specs that their schemas accept and that no machine could be made from: refused by field, with the cure."""

from typing import Any

import pytest
from judge import instance, made, refusal, stored

CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}
ROOT = {"name": "root", **CLAIM}
POD = {"name": "n", "pod": {}}


def asked(devices: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """An instance with one disk and these parts."""
    whole = instance(ROOT, **spec)
    whole["spec"]["domain"]["devices"] |= devices or {}
    return whole


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"hostname": "Web"}, "spec.hostname"),
        ({"hostname": "web.lab"}, "spec.hostname"),
        ({"hostname": "a" * 64}, "spec.hostname"),
        ({"hostname": "web\n"}, "spec.hostname"),
        ({"subdomain": "a_b"}, "spec.subdomain"),
        ({"serviceAccountName": "A"}, "spec.serviceAccountName"),
        ({"schedulerName": "a/b"}, "spec.schedulerName"),
        ({"nodeSelector": {"a b": "c"}}, "spec.nodeSelector"),
        ({"nodeSelector": {"a/b/c": "c"}}, "spec.nodeSelector"),
        ({"nodeSelector": {"a": "b c"}}, "spec.nodeSelector[a]"),
        ({"networks": [{"name": "a b", "pod": {}}]}, "spec.networks[0].name"),
    ],
)
def test_names_are_dns_names_and_labels(spec, field):
    assert f"{field}: Invalid value" in refusal(asked(**spec))


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({"persistentVolumeClaim": {"claimName": "A"}}, "persistentVolumeClaim.claimName"),
        ({"ephemeral": {"persistentVolumeClaim": {"claimName": "../x"}}}, "ephemeral.persistentVolumeClaim.claimName"),
        ({"dataVolume": {"name": "a_b"}}, "dataVolume.name"),
        ({"configMap": {"name": "a b"}}, "configMap.name"),
        ({"secret": {"secretName": "-a"}}, "secret.secretName"),
        ({"serviceAccount": {"serviceAccountName": "a/b"}}, "serviceAccount.serviceAccountName"),
        ({"cloudInitNoCloud": {"secretRef": {"name": "A"}}}, "cloudInitNoCloud.secretRef.name"),
        (
            {"networkVolume": {"uri": "nbds://h/e", "format": "raw", "secretRef": {"name": "A"}}},
            "networkVolume.secretRef.name",
        ),
    ],
)
def test_objects_are_referred_to_by_possible_names(source, field):
    assert f"spec.volumes[0].{field}: Invalid value" in refusal(instance({"name": "v", **source}))


def test_a_name_leaves_room_for_that_of_the_pod():
    long = asked()
    long["metadata"]["name"] = "a" * 234
    assert "metadata.name: Invalid value" in refusal(long)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"readinessProbe": {}}, "spec.readinessProbe: Required value"),
        ({"livenessProbe": {"guestAgentPing": {}, "exec": {"command": ["a"]}}}, "spec.livenessProbe: Invalid value"),
        ({"readinessProbe": {"exec": {}}}, "spec.readinessProbe.exec.command: Required value"),
        ({"readinessProbe": {"tcpSocket": {"port": 22}}}, "spec.readinessProbe.tcpSocket: Invalid value"),
        ({"readinessProbe": {"httpGet": {"port": 0}}}, "spec.readinessProbe.httpGet.port: Required value"),
        (
            {"startStrategy": "Paused", "livenessProbe": {"guestAgentPing": {}}},
            "spec.startStrategy: Invalid value",
        ),
        ({"terminationGracePeriodSeconds": 2**31}, "spec.terminationGracePeriodSeconds: Invalid value"),
        ({"accessCredentials": [{}]}, "spec.accessCredentials[0]: Required value"),
    ],
)
def test_probes_and_credentials_say_what_they_are(spec, field):
    assert field in refusal(asked(**spec))


def key(method: dict[str, Any], source: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    source = {"secret": {"secretName": "keys"}} if source is None else source
    return [{"sshPublicKey": {"source": source, "propagationMethod": method}}]


@pytest.mark.parametrize(
    ("credentials", "field"),
    [
        (key({}), "sshPublicKey.propagationMethod: Required value"),
        (key({"noCloud": {}, "configDrive": {}}), "sshPublicKey.propagationMethod: Invalid value"),
        (key({"noCloud": {}}), "sshPublicKey.propagationMethod.noCloud: Invalid value"),
        (key({"qemuGuestAgent": {"users": []}}), "propagationMethod.qemuGuestAgent.users: Required value"),
        (key({"qemuGuestAgent": {"users": ["me"]}}, {}), "sshPublicKey.source.secret: Required value"),
    ],
)
def test_keys_have_a_source_and_a_way(credentials, field):
    said = refusal(asked(accessCredentials=credentials))
    assert said.startswith("spec.accessCredentials[0].sshPublicKey.")
    assert field in said


def test_keys_go_with_a_cloud_init_disk():
    seed = {"name": "seed", "cloudInitNoCloud": {"userData": "x"}}
    assert stored(instance(ROOT, seed, accessCredentials=key({"noCloud": {}})))


@pytest.mark.parametrize(
    ("interfaces", "networks", "field"),
    [
        ([{"name": "n", "masquerade": {}}], [{"name": "n"}], "spec.networks[0]: Required value"),
        (
            [{"name": "n", "masquerade": {}}],
            [{"name": "n", "pod": {}, "multus": {"networkName": "x"}}],
            "spec.networks[0]: Invalid value",
        ),
        ([{"name": "n"}], [POD], "spec.domain.devices.interfaces[0]: Required value"),
        (
            [{"name": "n", "masquerade": {}, "bridge": {}}],
            [POD],
            "spec.domain.devices.interfaces[0]: Invalid value",
        ),
        (
            [{"name": "n", "masquerade": {}}, {"name": "m", "masquerade": {}}],
            [POD, {"name": "m", "pod": {}}],
            "spec.networks[1]: Invalid value",
        ),
    ],
)
def test_a_network_is_of_one_type_and_a_card_has_one_binding(interfaces, networks, field):
    assert field in refusal(asked(devices={"interfaces": interfaces}, networks=networks))


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"dnsPolicy": "Sometimes"}, "spec.dnsPolicy: Unsupported value"),
        ({"dnsPolicy": "None"}, "spec.dnsConfig.nameservers: Required value"),
        ({"tolerations": [{"operator": "Like"}]}, "spec.tolerations[0].operator: Unsupported value"),
        ({"tolerations": [{"key": "a", "effect": "No"}]}, "spec.tolerations[0].effect: Unsupported value"),
        ({"tolerations": [{"value": "a"}]}, "spec.tolerations[0].operator: Invalid value"),
        ({"affinity": {"diskAffinity": {}}}, "spec.affinity.diskAffinity: Unsupported value"),
        ({"affinity": {"nodeAffinity": 1}}, "spec.affinity.nodeAffinity: Invalid value"),
        ({"affinity": {"podAffinity": {"required": []}}}, "spec.affinity.podAffinity.required: Unsupported value"),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
            "nodeSelectorTerms: Required value",
        ),
        (
            {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}},
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution: Invalid value",
        ),
        ({"topologySpreadConstraints": [{}]}, "spec.topologySpreadConstraints[0].maxSkew: Invalid value"),
    ],
)
def test_wishes_about_nodes_are_understood(spec, field):
    assert field in refusal(asked(**spec))


def test_null_is_as_absent():
    toleration = {"key": "a", "operator": "Exists", "effect": None, "value": None, "tolerationSeconds": None}
    assert stored(asked(affinity={"nodeAffinity": None, "podAffinity": {}}, tolerations=[toleration]))


def test_a_filesystem_has_a_volume():
    said = refusal(asked(devices={"filesystems": [{"name": "data", "virtiofs": {}}]}))
    assert "spec.domain.devices.filesystems[0].name: Invalid value" in said


def test_a_boot_order_is_a_number_of_qemu():
    said = refusal(instance(ROOT, disks=[{"name": "root", "bootOrder": 2**31}]))
    assert "spec.domain.devices.disks[0].bootOrder: Invalid value" in said


def test_a_data_volume_template_is_used():
    template = {"metadata": {"name": "d"}, "spec": {"storage": {}, "source": {"blank": {}}}}
    machine = {"runStrategy": "Always", "dataVolumeTemplates": [template], "template": {"spec": instance(ROOT)["spec"]}}
    said = refusal(made("VirtualMachine", machine))
    assert "spec.dataVolumeTemplates[0]: Invalid value" in said
    assert "must be referenced in the VMI template's 'volumes' list" in said


@pytest.mark.parametrize(
    ("pod", "field"),
    [
        ({"vmNetworkCIDR": "10.0.2.0/33"}, "vmNetworkCIDR"),
        ({"vmNetworkCIDR": "fd10::/64"}, "vmNetworkCIDR"),
        ({"vmNetworkCIDR": "10.0.2.0/30"}, "vmNetworkCIDR"),
        ({"vmIPv6NetworkCIDR": "10.0.2.0/24"}, "vmIPv6NetworkCIDR"),
    ],
)
def test_a_network_has_addresses(pod, field):
    cards = {"interfaces": [{"name": "n", "masquerade": {}}]}
    assert f"spec.networks[0].pod.{field}: Invalid value" in refusal(
        asked(devices=cards, networks=[{"name": "n", "pod": pod}])
    )


def test_a_card_has_a_place_that_is_there():
    cards = {"interfaces": [{"name": "n", "masquerade": {}, "pciAddress": "0000:05:02.0"}]}
    assert "spec.domain.devices.interfaces[0].pciAddress: Invalid value" in refusal(
        asked(devices=cards, networks=[POD])
    )


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({"nbd": {"host": "h:10809"}}, "nbd.host"),
        ({"nbd": {"host": "a b"}}, "nbd.host"),
        ({"nbd": {"host": "[::1]"}}, "nbd.host"),
        ({"gluster": {"host": "h/x", "volume": "v", "path": "p"}}, "gluster.host"),
        ({"gluster": {"host": "h", "volume": "v/w", "path": "p"}}, "gluster.volume"),
        ({"iscsi": {"targetPortal": "h", "iqn": "iqn.2017-01.io x"}}, "iscsi.iqn"),
        ({"iscsi": {"targetPortal": "h", "iqn": "iqn.2017-01.io:x", "initiatorName": "me"}}, "iscsi.initiatorName"),
        ({"rbd": {"monitors": ["m", "m:0"], "image": "i"}}, "rbd.monitors[1]"),
    ],
)
def test_storage_has_an_address(source, field):
    assert f"spec.volumes[0].{field}: Invalid value" in refusal(instance({"name": "v", **source}))


@pytest.mark.parametrize("host", ["storage", "10.0.0.1", "::1", "a.b-c_d"])
def test_hosts_are_names_or_addresses(host):
    assert stored(instance({"name": "v", "nbd": {"host": host}}))
