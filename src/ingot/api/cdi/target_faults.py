"""What a schema cannot say of the claim that a DataVolume asks for: its size, modes and class, and who fills it."""

import json
import re
from collections.abc import Iterator
from typing import Final

from ingot.api.machinery.scalar import SUBDOMAIN_PATTERN
from ingot.api.object import Object
from ingot.api.status import Cause

ACCESS_MODES: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")

_LONGEST_NAME: Final = 253
_SUBDOMAIN: Final = re.compile(SUBDOMAIN_PATTERN)


def target_faults(spec: Object, path: str) -> Iterator[Cause]:
    """The faults of the claim in a DataVolume's spec that lies at `path`."""
    for name in ("pvc", "storage"):
        if name not in spec:
            continue
        target, field = spec[name], f"{path}.{name}"
        yield from _size_faults(target, field, sizeless=name == "storage" and _tells_size(spec))
        yield from _class_faults(target, f"{field}.storageClassName")
        yield from _mode_faults(target.get("accessModes", []), f"{field}.accessModes", only=name == "pvc")
        if target.get("volumeMode") == "Block" and spec.get("contentType") == "archive":
            why = "the files of an archive need a filesystem; Filesystem is expected, or contentType: kubevirt"
            yield invalid(f"{field}.volumeMode", "Block", why)
        yield from _population_faults(target, field)


def _tells_size(spec: Object) -> bool:
    """Whether the source itself tells how large the volume must be: a disk image does, and so does what is cloned."""
    if "sourceRef" in spec or spec.get("source", {}).keys() & {"pvc", "snapshot"}:
        return True
    return "source" in spec and spec.get("contentType") != "archive" and not spec["source"].keys() & {"blank", "upload"}


def _size_faults(target: Object, path: str, *, sizeless: bool) -> Iterator[Cause]:
    field = f"{path}.resources.requests.storage"
    size = target.get("resources", {}).get("requests", {}).get("storage")
    if size is None:
        if not sizeless:
            yield Cause(field, "Required value: the size of the volume is expected", "FieldValueRequired")
    elif not _positive(size):
        yield invalid(field, size, "a size above zero is expected")


def _class_faults(target: Object, path: str) -> Iterator[Cause]:
    # An empty one is no name: it asks for a volume that is there already.
    name = target.get("storageClassName", "")
    if name and (len(name) > _LONGEST_NAME or not _SUBDOMAIN.fullmatch(name)):
        why = f"the name of a StorageClass is expected, of at most {_LONGEST_NAME} characters"
        yield invalid(path, name, why)


def _mode_faults(modes: list[str], path: str, *, only: bool) -> Iterator[Cause]:
    if only and len(modes) != 1:
        *most, last = ACCESS_MODES
        yield invalid(path, modes, f"exactly one access mode is expected: {', '.join(most)} or {last}")
        return
    for index, mode in enumerate(modes):
        if mode not in ACCESS_MODES:
            supported = ", ".join(f'"{each}"' for each in ACCESS_MODES)
            message = f'Unsupported value: "{mode}": supported values: {supported}'
            yield Cause(f"{path}[{index}]", message, "FieldValueNotSupported")


def _population_faults(target: Object, path: str) -> Iterator[Cause]:
    """The faults of a claim that something else than Ingot fills."""
    for name in ("dataSource", "dataSourceRef"):
        if name in target:
            yield from _reference_faults(target[name], f"{path}.{name}")
    both = [_same(target[name]) for name in ("dataSource", "dataSourceRef") if name in target]
    if len(both) == 2 and both[0] != both[1]:
        yield invalid(f"{path}.dataSourceRef", target["dataSourceRef"], "it must be the same as dataSource, or alone")


def _reference_faults(reference: Object, path: str) -> Iterator[Cause]:
    for name in ("kind", "name"):
        if not reference[name]:
            yield Cause(f"{path}.{name}", f"Required value: the {name} of what fills the volume", "FieldValueRequired")
    if not reference.get("apiGroup") and reference["kind"] != "PersistentVolumeClaim":
        message = "Required value: only a PersistentVolumeClaim is in the group without a name"
        yield Cause(f"{path}.apiGroup", message, "FieldValueRequired")
    if reference.get("namespace"):
        why = "what fills the volume must be in its own namespace; a DataVolume with source.pvc clones from others"
        yield invalid(f"{path}.namespace", reference["namespace"], why)


def _same(reference: Object) -> tuple[str, str, str]:
    return reference.get("apiGroup") or "", reference["kind"], reference["name"]


def _positive(quantity: int | str) -> bool:
    """Whether a quantity that matches Kubernetes' pattern is above zero, whatever its unit."""
    number = re.match(r"[+-]?[0-9.]+", str(quantity))
    return number is not None and float(number[0]) > 0


def invalid(path: str, value: object, why: str) -> Cause:
    """The fault of a value that is not what is expected."""
    shown = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Cause(path, f"Invalid value: {shown}: {why}", "FieldValueInvalid")
