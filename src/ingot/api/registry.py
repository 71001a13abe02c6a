"""All kinds of Ingot, and what an API server asks of them: pure functions on plain dictionaries.

Our own server calls these in process; on a cluster kube-apiserver calls them through webhooks. Each kind has
registered its own converters, mutators and validators with `@kind`; here they are only found and called.
"""

from typing import Any

from ingot.api import cdi, hco, kubevirt, snapshot, ssp, template
from ingot.api.machinery import defaults
from ingot.api.machinery.crd import crd_of
from ingot.api.machinery.kind import KINDS, KindInfo
from ingot.api.object import Object, split_api_version
from ingot.api.status import Cause, bad_request

# Importing a group's package registers its kinds.
GROUPS = (cdi, hco, kubevirt, snapshot, ssp, template)


def kinds() -> list[KindInfo]:
    """Every kind, by group and name."""
    return [KINDS[key] for key in sorted(KINDS)]


def crds() -> list[Object]:
    """The CustomResourceDefinition of every kind. Their schemas share parts: copy one before you change it."""
    return [crd_of(info) for info in kinds()]


def find(group: str, kind: str) -> KindInfo | None:
    """What is known of a kind, or None for one that is not ours."""
    return KINDS.get((group, kind))


def convert(obj: Object, to_version: str) -> Object:
    """The object in another version of its kind; the object itself when it is in that version already.

    Raises a 400 ApiError for a kind or version that is not ours.
    """
    info, version = _known(obj)
    target = info.version(to_version)
    if target is None:
        raise bad_request(f"{info.kind} of {info.group} has no version {to_version!r}; {_versions(info)}")
    if version == to_version:
        return obj
    source = info.version(version)
    if source is None:
        raise bad_request(f"{info.kind} of {info.group} has no version {version!r}; {_versions(info)}")
    made: Object = copy_json(obj)
    source.upgrade(made)
    target.downgrade(made)
    made["apiVersion"] = info.api_version(to_version)
    return made


def admit(obj: Object, old: Object | None, operation: str) -> Object:
    """The object as it is to be stored: older shapes normalised, all defaults filled in.

    `operation` is CREATE or UPDATE. Objects that are not ours come back as they are; no argument is
    changed. The answer is in the object's own version. Raises a 400 ApiError for what nests without end.
    """
    info = find(*_group_kind(obj))
    if info is None:
        return obj
    version = split_api_version(obj["apiVersion"])[1]
    try:
        stored: Object = copy_json(convert(obj, info.stored.name))
        info.mutate(stored, _stored(info, old), operation)
        defaults.fill(info.shape, stored)
        return convert(stored, version)
    except RecursionError:
        raise bad_request(f"{info.kind}: objects and lists in it are nested too deep to be looked at") from None


def validate(obj: Object, old: Object | None) -> list[Cause]:
    """What is wrong with an object that its schema accepts; paths are those of the stored version.

    An object that was accepted once is not judged again while it stays as it is: or one that breaks a newer rule
    could neither be reported on nor be let go.
    """
    info = find(*_group_kind(obj))
    if info is None:
        return []
    new, before = convert(obj, info.stored.name), _stored(info, old)
    if before is not None and _judged(info, new) == _judged(info, before):
        return []
    return info.validate(new, before)


def copy_json(value: Any) -> Any:
    """A deep copy of a JSON value, several times faster than `copy.deepcopy`."""
    if isinstance(value, dict):
        return {key: copy_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [copy_json(each) for each in value]
    return value


def _judged(info: KindInfo, obj: Object) -> Object:
    """The parts that a validator judges; none looks at metadata that can change."""
    left_out = ("metadata",) if info.admit_status else ("metadata", "status")
    return {key: value for key, value in obj.items() if key not in left_out}


def _stored(info: KindInfo, old: Object | None) -> Object | None:
    return None if old is None else convert(old, info.stored.name)


def _group_kind(obj: Object) -> tuple[str, str]:
    return split_api_version(str(obj.get("apiVersion", "")))[0], str(obj.get("kind", ""))


def _known(obj: Object) -> tuple[KindInfo, str]:
    group, version = split_api_version(str(obj.get("apiVersion", "")))
    info = find(group, str(obj.get("kind", "")))
    if info is None:
        raise bad_request(f"no kind {obj.get('kind')!r} in {obj.get('apiVersion')!r} that could be converted")
    return info, version


def _versions(info: KindInfo) -> str:
    return "it has " + ", ".join(version.name for version in info.versions)
