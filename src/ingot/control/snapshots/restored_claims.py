"""The claims of a restore: made from VolumeSnapshots or full copies, its own until the machine stands on them."""

from fractions import Fraction
from hashlib import sha256

from ingot.api.cdi.names import CONTENT_TYPE, IMMEDIATE, POPULATED_FOR, SELECTED_NODE
from ingot.api.kubevirt.names import CREATED_BY
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.quantity import Quantity
from ingot.api.resources import CLONE_SOURCES, DATA_VOLUMES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.control.owning import is_owned
from ingot.control.snapshots.restored import templates_of
from ingot.control.snapshots.words import RESTORE_NAME
from ingot.control.writing import change, delete, live
from ingot.kube.client import Client
from ingot.kube.objects import copy_of, is_deleting, set_controller_reference

# Said of the claim that was saved, and untrue of another.
_NOT_KEPT = (
    "pv.kubernetes.io/",
    "volume.beta.kubernetes.io/",
    "volume.kubernetes.io/",
    "cdi.kubevirt.io/",
    "ingot.io/",
    "restore.kubevirt.io/",
    "k8s.io/Clone",
)
_NOT_TAKEN = ("dataSource", "dataSourceRef", "volumeName")


def planned(restore: Object, content: Object) -> list[Object]:
    """What `status.restores` says: which claim each volume is restored to."""
    return [
        {
            "volumeName": backup["volumeName"],
            "persistentVolumeClaim": _name(restore, backup),
            "volumeSnapshotName": backup.get("volumeSnapshotName", ""),
            **({"savedClaimName": backup["savedClaimName"]} if backup.get("savedClaimName") else {}),
        }
        for backup in content["spec"].get("volumeBackups") or ()
    ]


def is_in_place(restore: Object) -> bool:
    """Whether restored claims take the places of those that were saved."""
    return bool(restore["spec"].get("volumeRestorePolicy") == "InPlace")


def _name(restore: Object, backup: Object) -> str:
    volume = backup["volumeName"]
    if named := _override(restore, volume).get("restoreName"):
        return str(named)
    if is_in_place(restore) and _is_of_claim(backup):
        return str(backup["persistentVolumeClaim"]["metadata"]["name"])
    if restore["spec"].get("volumeRestorePolicy") == "PrefixTargetName":
        return f"{restore['spec']['target']['name']}-{volume}"
    return f"restore-{uid_of(restore)}-{volume}"


def _is_of_claim(backup: Object) -> bool:
    """Whether the volume is restored to a claim like the one that it had; others become like their full copies."""
    return "spec" in backup["persistentVolumeClaim"]


def claim_from(restore: Object, plan: Object, backup: Object, origin: Object) -> Object:
    """The claim of one volume, to be filled from `origin`: its VolumeSnapshot, or the claim with its full copy."""
    copied = bool(plan.get("savedClaimName"))
    saved = backup["persistentVolumeClaim"] if _is_of_claim(backup) else {"metadata": {}, "spec": origin["spec"]}
    given = saved["metadata"].get("annotations") or {}
    override = _override(restore, plan["volumeName"])
    annotations = {key: text for key, text in given.items() if not key.startswith(_NOT_KEPT)}
    annotations |= {key: given[key] for key in (CONTENT_TYPE, SELECTED_NODE) if given.get(key)}
    spec = {key: value for key, value in copy_of(saved["spec"]).items() if key not in _NOT_TAKEN}
    if copied:
        reference = {"apiGroup": CLONE_SOURCES.group, "kind": CLONE_SOURCES.kind, "name": source_name(restore, plan)}
        spec["dataSourceRef"] = reference
        annotations[IMMEDIATE] = "true"
        _enlarge(spec, ((origin.get("status") or {}).get("capacity") or {}).get("storage"))
    else:
        reference = {"apiGroup": SNAPSHOTS.group, "kind": SNAPSHOTS.kind, "name": plan["volumeSnapshotName"]}
        spec["dataSource"] = reference
        _enlarge(spec, (origin.get("status") or {}).get("restoreSize"))
    claim: Object = {
        "apiVersion": VOLUME_CLAIMS.api_version,
        "kind": VOLUME_CLAIMS.kind,
        "metadata": {
            "name": plan["persistentVolumeClaim"],
            "namespace": namespace_of(restore),
            "labels": {**(saved["metadata"].get("labels") or {}), **(override.get("labels") or {})},
            "annotations": {**annotations, **(override.get("annotations") or {}), RESTORE_NAME: name_of(restore)},
        },
        "spec": spec,
    }
    if name := plan.get("dataVolumeName"):
        claim["metadata"]["annotations"][POPULATED_FOR] = name
    set_controller_reference(claim, restore)
    return claim


def _override(restore: Object, volume: str) -> Object:
    overrides = restore["spec"].get("volumeRestoreOverrides") or ()
    return next((each for each in overrides if each.get("volumeName") == volume), {})


def source_name(restore: Object, plan: Object) -> str:
    """The VolumeCloneSource for one volume. Names of volumes may have 63 characters, and so may its own at most."""
    return f"restore-{uid_of(restore)}-{sha256(plan['volumeName'].encode()).hexdigest()[:16]}"


def clone_source(restore: Object, plan: Object) -> Object:
    """What has the claim of one volume filled from the full copy; it goes with the restore, or when that is over."""
    made: Object = {
        "apiVersion": CLONE_SOURCES.api_version,
        "kind": CLONE_SOURCES.kind,
        "metadata": {"name": source_name(restore, plan), "namespace": namespace_of(restore)},
        "spec": {"source": {"kind": VOLUME_CLAIMS.kind, "name": plan["savedClaimName"]}},
    }
    set_controller_reference(made, restore)
    return made


def _enlarge(spec: Object, needed: str | None) -> None:
    """Ask for what the origin needs, should that be more."""
    requests = spec.setdefault("resources", {}).setdefault("requests", {})
    if needed and _size(needed) > _size(requests.get("storage", "0")):
        requests["storage"] = needed


def _size(text: str | int) -> Fraction:
    return Quantity.parse(text).exact


async def hand_over(client: Client, restore: Object, plan: Object, machine: Object) -> None:
    """The machine stands on the claim: from now on it is the machine's, or nobody's if the restore says so."""
    await _forget_source(client, restore, plan)
    claim = await live(client, VOLUME_CLAIMS, plan["persistentVolumeClaim"], namespace_of(restore))
    if claim is None or not is_owned(claim, restore):
        return
    owner = machine if restore["spec"].get("volumeOwnershipPolicy") != "None" else None
    if template := templates_of(machine).get(plan.get("dataVolumeName", "")):
        # The DataVolume is the machine's, and takes the claim. A machine that was made anew meanwhile has none.
        await _make_data_volume(client, machine, template)
        owner = None

    def give(each: Object) -> None:
        kept = [ref for ref in each["metadata"].get("ownerReferences") or () if ref["uid"] != uid_of(restore)]
        each["metadata"]["ownerReferences"] = kept
        if owner is not None:
            set_controller_reference(each, owner)

    await change(client, VOLUME_CLAIMS, claim, give)


async def discard(client: Client, restore: Object) -> None:
    """The restore comes to nothing: what was made for it goes."""
    for plan in (restore.get("status") or {}).get("restores") or ():
        await _forget_source(client, restore, plan)
        claim = await live(client, VOLUME_CLAIMS, plan["persistentVolumeClaim"], namespace_of(restore))
        if claim is not None and is_owned(claim, restore) and not is_deleting(claim):
            await delete(client, VOLUME_CLAIMS, claim)


async def _forget_source(client: Client, restore: Object, plan: Object) -> None:
    if plan.get("savedClaimName"):
        found = await live(client, CLONE_SOURCES, source_name(restore, plan), namespace_of(restore))
        if found is not None and is_owned(found, restore):
            await delete(client, CLONE_SOURCES, found)


async def _make_data_volume(client: Client, machine: Object, template: Object) -> None:
    wanted: Object = {
        "apiVersion": DATA_VOLUMES.api_version,
        "kind": DATA_VOLUMES.kind,
        "metadata": {
            "name": template["metadata"]["name"],
            "namespace": namespace_of(machine),
            "labels": {**(template["metadata"].get("labels") or {}), CREATED_BY: uid_of(machine)},
            "annotations": dict(template["metadata"].get("annotations") or {}),
        },
        "spec": copy_of(template["spec"]),
    }
    set_controller_reference(wanted, machine)
    try:
        await client.create(DATA_VOLUMES, wanted)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
