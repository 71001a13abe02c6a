"""Names that are none: of the guest, of the objects that a spec refers to, of nodes' labels."""

import re
from collections.abc import Iterator

from ingot.api.kubevirt.causes import invalid
from ingot.api.machinery.scalar import LABEL_PATTERN, SUBDOMAIN_PATTERN
from ingot.api.object import Object
from ingot.api.status import Cause

# A launcher pod's name is the machine's with 20 characters around it, and has 253 at most.
LONGEST_NAME = 233
_LABEL = re.compile(LABEL_PATTERN.replace("$", r"\Z"))
_SUBDOMAIN = re.compile(SUBDOMAIN_PATTERN.replace("$", r"\Z"))
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]")
# Where a volume names another object of its namespace: below the volume, by dots.
_REFERENCES = (
    "persistentVolumeClaim.claimName",
    "ephemeral.persistentVolumeClaim.claimName",
    "memoryDump.claimName",
    "dataVolume.name",
    "containerDisk.imagePullSecret",
    "configMap.name",
    "secret.secretName",
    "serviceAccount.serviceAccountName",
    "sysprep.secret.name",
    "sysprep.configMap.name",
    "cloudInitNoCloud.secretRef.name",
    "cloudInitNoCloud.networkDataSecretRef.name",
    "cloudInitConfigDrive.secretRef.name",
    "cloudInitConfigDrive.networkDataSecretRef.name",
    "networkVolume.secretRef.name",
    "networkVolume.certConfigMap.name",
    "iscsi.secretRef.name",
    "rbd.secretRef.name",
    "nbd.secretRef.name",
    "nbd.certConfigMap.name",
    "http.secretRef.name",
    "http.certConfigMap.name",
)
_SPEC_REFERENCES = ("priorityClassName", "schedulerName", "serviceAccountName")


def machine_name_faults(obj: Object) -> Iterator[Cause]:
    """A machine's own name, which the pods and files of it carry."""
    name = str(obj["metadata"].get("name", ""))
    if len(name) > LONGEST_NAME:
        yield invalid("metadata.name", name, f"must be no more than {LONGEST_NAME} characters")


def name_faults(spec: Object, path: str) -> Iterator[Cause]:
    """The faults of all names in an instance's spec that is found at `path`."""
    for key in ("hostname", "subdomain"):
        if text := spec.get(key):
            yield from _dns_label(f"{path}.{key}", text)
    for key in _SPEC_REFERENCES:
        yield from reference_faults(f"{path}.{key}", spec.get(key))
    for index, volume in enumerate(spec.get("volumes") or ()):
        for below in _REFERENCES:
            yield from reference_faults(f"{path}.volumes[{index}].{below}", _at(volume, below))
    for index, credential in enumerate(spec.get("accessCredentials") or ()):
        for kind in ("sshPublicKey", "userPassword"):
            below = f"{kind}.source.secret.secretName"
            yield from reference_faults(f"{path}.accessCredentials[{index}].{below}", _at(credential, below))
    for index, volume in enumerate(spec.get("utilityVolumes") or ()):
        yield from reference_faults(f"{path}.utilityVolumes[{index}].claimName", volume["claimName"])
    for key in ("interfaces", "networks"):
        place = (spec if key == "networks" else spec["domain"]["devices"]).get(key) or ()
        where = path if key == "networks" else f"{path}.domain.devices"
        for index, each in enumerate(place):
            if not _QUALIFIED.fullmatch(each["name"]):
                why = "must be made of at most 63 letters, digits, '-', '_' and '.', a letter or digit at both ends"
                yield invalid(f"{where}.{key}[{index}].name", each["name"], why)


def template_faults(metadata: Object, path: str) -> Iterator[Cause]:
    """The labels of what is made from a template whose metadata is found at `path`."""
    for key, value in (metadata.get("labels") or {}).items():
        yield from label_key_faults(f"{path}.labels", key)
        yield from label_value_faults(f"{path}.labels[{key}]", value)


def reference_faults(field: str, name: object) -> Iterator[Cause]:
    """The name of another object; one that is absent or empty is for others to miss."""
    if isinstance(name, str) and name and (len(name) > 253 or not _SUBDOMAIN.match(name)):
        why = (
            "the name of an object must consist of lower case letters, digits, '-' or '.', and must start and end "
            "with a letter or digit"
        )
        yield invalid(field, name, why)


def label_key_faults(field: str, key: str) -> Iterator[Cause]:
    """A label's key: a short name, with a DNS name and a slash before it if need be."""
    prefix, slash, name = key.rpartition("/")
    if not _QUALIFIED.fullmatch(name) or (slash and not (_SUBDOMAIN.match(prefix) and len(prefix) <= 253)):
        why = "a label's key is at most 63 letters, digits, '-', '_' and '.', and may have a DNS name and '/' before it"
        yield invalid(field, key, why)


def label_value_faults(field: str, value: str) -> Iterator[Cause]:
    if value and not _QUALIFIED.fullmatch(value):
        yield invalid(field, value, "a label's value is empty or at most 63 letters, digits, '-', '_' and '.'")


def _dns_label(field: str, text: str) -> Iterator[Cause]:
    if len(text) > 63 or not _LABEL.match(text):
        why = (
            f"{field} does not conform to the kubernetes DNS_LABEL rules: at most 63 lower case letters, digits and "
            "'-', a letter or digit at both ends"
        )
        yield invalid(field, text, why)


def _at(value: object, path: str) -> object:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value
