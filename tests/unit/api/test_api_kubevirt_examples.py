"""Our own examples, and manifests as KubeVirt's users write them."""

from pathlib import Path

import pytest
import yaml
from judge import V1, instance, made, stored

EXAMPLES = Path(__file__).parents[3] / "examples"

# Every part of an instance that a manifest about disks may also hold.
WIDE = """
accessCredentials:
- sshPublicKey:
    source: {secret: {secretName: keys}}
    propagationMethod: {qemuGuestAgent: {users: [me]}}
- userPassword:
    source: {secret: {secretName: words}}
    propagationMethod: {qemuGuestAgent: {}}
affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}
architecture: amd64
dnsConfig: {nameservers: [10.0.0.1]}
dnsPolicy: None
domain:
  chassis: {manufacturer: m, sku: s}
  clock:
    timer:
      hpet: {present: false}
      hyperv: {}
      kvm: {present: true}
      pit: {tickPolicy: delay}
      rtc: {tickPolicy: catchup, track: guest}
    utc: {offsetSeconds: 60}
  cpu:
    cores: 2
    dedicatedCpuPlacement: true
    features: [{name: apic, policy: require}]
    maxSockets: 4
    model: host-model
    numa: {guestMappingPassthrough: {}}
    realtime: {mask: 0-3}
    sockets: 1
    threads: 1
  devices:
    autoattachGraphicsDevice: false
    autoattachMemBalloon: true
    autoattachSerialConsole: true
    autoattachVSOCK: true
    blockMultiQueue: true
    clientPassthrough: {}
    disableHotplug: false
    disks:
    - blockSize: {custom: {logical: 512, physical: 4096}}
      bootOrder: 1
      cache: none
      dedicatedIOThread: true
      disk: {bus: virtio, pciAddress: "0000:03:00.0", readonly: false}
      errorPolicy: report
      io: native
      name: root
      serial: D23YZ9W6WA5DJ487
      shareable: true
      tag: mine
    - cdrom: {bus: sata, readonly: true, tray: closed}
      name: installer
    - lun: {bus: scsi, reservation: true}
      blockSize: {matchVolume: {enabled: true}}
      name: raw
    filesystems: [{name: shared, virtiofs: {}}]
    gpus: [{deviceName: vendor/gpu, name: gpu, virtualGPUOptions: {display: {ramFB: {enabled: true}}}}]
    hostDevices: [{deviceName: vendor/card, name: card, tag: fast}]
    inputs: [{bus: usb, name: tablet, type: tablet}]
    interfaces:
    - bootOrder: 2
      dhcpOptions: {bootFileName: f, privateOptions: [{option: 240, value: x}], tftpServerName: t}
      macAddress: de:ad:00:00:be:af
      masquerade: {}
      model: virtio
      name: default
      ports: [{name: http, port: 80, protocol: TCP}]
    - bridge: {}
      name: other
      state: up
    networkInterfaceMultiqueue: true
    rng: {}
    sound: {model: ich9, name: audio}
    tpm: {persistent: true}
    useVirtioTransitional: false
    watchdog: {i6300esb: {action: reset}, name: dog}
  features:
    acpi: {enabled: true}
    apic: {endOfInterrupt: true}
    hyperv: {relaxed: {}, spinlocks: {spinlocks: 8191}, synictimer: {direct: {}}, vapic: {}, vendorid: {vendorid: v}}
    kvm: {hidden: true}
    smm: {enabled: true}
  firmware:
    bootloader: {efi: {persistent: true, secureBoot: true}}
    kernelBoot: {container: {image: i, initrdPath: /initrd, kernelPath: /vmlinuz}, kernelArgs: console=ttyS0}
    serial: "1"
    uuid: 5d307ca9-b3ef-428c-8861-06e72d69f223
  ioThreads: {supplementalPoolThreadCount: 4}
  ioThreadsPolicy: auto
  launchSecurity: {sev: {policy: {encryptedState: true}}}
  machine: {type: q35}
  memory: {guest: 1Gi, hugepages: {pageSize: 2Mi}, maxGuest: 4Gi}
  resources:
    limits: {cpu: 2, memory: 2Gi}
    overcommitGuestOverhead: true
    requests: {cpu: 500m, memory: 1024M}
evictionStrategy: LiveMigrate
hostname: me
livenessProbe: {failureThreshold: 3, httpGet: {port: 80}, initialDelaySeconds: 5, periodSeconds: 10}
networks:
- name: default
  pod: {vmNetworkCIDR: 10.0.2.0/24}
- multus: {default: false, networkName: space/other}
  name: other
nodeSelector: {disk: fast}
priorityClassName: high
readinessProbe: {guestAgentPing: {}, timeoutSeconds: 1}
schedulerName: mine
subdomain: web
terminationGracePeriodSeconds: 0
tolerations: [{effect: NoSchedule, key: k, operator: Exists}]
topologySpreadConstraints: [{labelSelector: {}, maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
volumes:
- name: root
  persistentVolumeClaim: {claimName: root}
- containerDisk: {image: i}
  name: installer
- name: raw
  persistentVolumeClaim: {claimName: raw}
- configMap: {name: shared}
  name: shared
"""


def ours():
    for path in sorted(EXAMPLES.glob("*.yaml")):
        for obj in yaml.safe_load_all(path.read_text()):
            if obj and obj["apiVersion"].startswith("kubevirt.io/"):
                yield pytest.param(obj, id=path.stem)


@pytest.mark.parametrize("asked", list(ours()))
def test_our_examples_are_accepted(asked):
    kept = stored(asked)
    assert (kept["apiVersion"], kept["kind"]) == (V1, asked["kind"])
    assert kept["metadata"] == asked["metadata"]


def test_there_is_an_example_of_every_kind():
    assert {each.values[0]["kind"] for each in ours()} == {
        "VM",
        "VirtualMachine",
        "VirtualMachineInstance",
        "VirtualMachineInstanceReplicaSet",
    }


@pytest.mark.parametrize("version", ["v1", "v1alpha3", "v1alpha1"])
def test_a_wide_instance_is_kept_as_it_is(version):
    wide = yaml.safe_load(WIDE)
    assert stored(made("VirtualMachineInstance", wide, f"kubevirt.io/{version}"))["spec"] == wide


def test_a_wide_machine_is_kept_as_it_is():
    spec = {
        "dataVolumeTemplates": [
            {
                "apiVersion": "cdi.kubevirt.io/v1beta1",
                "kind": "DataVolume",
                "metadata": {"name": "root", "creationTimestamp": None},
                "spec": {"storage": {"resources": {"requests": {"storage": "2Gi"}}}, "source": {"blank": {}}},
            }
        ],
        "instancetype": {"kind": "VirtualMachineInstancetype", "name": "small"},
        "preference": {"inferFromVolume": "root"},
        "runStrategy": "Halted",
        "template": {
            "metadata": {"labels": {"a": "b"}, "creationTimestamp": None},
            "spec": yaml.safe_load(WIDE),
        },
        "updateVolumesStrategy": "Replacement",
    }
    assert stored(made("VirtualMachine", spec))["spec"] == spec


def test_a_status_is_kept_as_it_is():
    status = {
        "activePods": {"uid": "node"},
        "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": None}],
        "guestOSInfo": {"name": "Debian"},
        "interfaces": [{"ipAddress": "10.0.0.2", "ipAddresses": ["10.0.0.2"], "name": "default"}],
        "nodeName": "node",
        "phase": "Running",
        "phaseTransitionTimestamps": [{"phase": "Pending", "phaseTransitionTimestamp": "2026-01-01T00:00:00Z"}],
        "volumeStatus": [{"name": "root", "target": "vda", "phase": "Ready", "size": 1}],
    }
    asked = instance({"name": "root", "emptyDisk": {"capacity": "1Gi"}})
    assert stored({**asked, "status": status})["status"] == status
