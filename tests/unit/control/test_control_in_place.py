"""Restores in place: whose claims may go (F5)."""

import pytest

from ingot.api.object import Object
from ingot.control.snapshots.in_place import check_own, check_target
from ingot.control.snapshots.restored import Impossible

BACKUP = {"volumeName": "root", "persistentVolumeClaim": {"metadata": {"name": "vm-root"}, "spec": {}}}
ON_CLAIM = {"name": "root", "persistentVolumeClaim": {"claimName": "vm-root"}}
ON_DATA_VOLUME = {"name": "disk", "dataVolume": {"name": "vm-root"}}
ON_COPY = {"name": "root", "ephemeral": {"persistentVolumeClaim": {"claimName": "vm-root"}}}
CONTENT = {"spec": {"source": {"virtualMachine": {"metadata": {"name": "vm", "uid": "first"}}}}}


def restore(target: str = "vm", policy: str = "InPlace") -> Object:
    return {"spec": {"target": {"name": target}, "volumeRestorePolicy": policy}}


def machine(*volumes: Object, uid: str = "first") -> Object:
    return {"metadata": {"name": "vm", "uid": uid}, "spec": {"template": {"spec": {"volumes": list(volumes)}}}}


def plan(claim: str = "vm-root") -> Object:
    return {"volumeName": "root", "persistentVolumeClaim": claim}


@pytest.mark.parametrize("there", [machine(), None])
def test_the_machine_that_was_saved_is_restored_in_place(there: Object | None) -> None:
    check_target(restore(), there, CONTENT)


@pytest.mark.parametrize(("target", "there"), [("copy", None), ("copy", machine()), ("vm", machine(uid="second"))])
def test_another_machine_is_not(target: str, there: Object | None) -> None:
    with pytest.raises(Impossible, match=r'^spec\.volumeRestorePolicy: InPlace .*"vm" with uid first.*RandomizeNames'):
        check_target(restore(target), there, CONTENT)
    check_target(restore(target, "RandomizeNames"), there, CONTENT)


@pytest.mark.parametrize("volume", [ON_CLAIM, ON_DATA_VOLUME])
def test_the_claim_that_was_saved_goes_where_the_machine_stands_on_it(volume: Object) -> None:
    check_own(restore(), plan(), BACKUP, machine(volume))


@pytest.mark.parametrize("there", [None, machine(), machine(ON_COPY)])
def test_it_stays_where_the_machine_does_not(there: Object | None) -> None:
    with pytest.raises(Impossible, match=r'"vm-root" exists already.*"vm" does not stand on it now: delete it'):
        check_own(restore(), plan(), BACKUP, there)


def test_a_claim_of_another_name_stays() -> None:
    other = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    with pytest.raises(Impossible, match=r'only the claim that it was saved from, "vm-root".*volumeRestoreOverrides'):
        check_own(restore(), plan("data"), BACKUP, machine(ON_CLAIM, other))
    with pytest.raises(Impossible, match="there is none to replace"):
        check_own(restore(), plan("data"), {"volumeName": "root", "persistentVolumeClaim": {}}, machine(other))


@pytest.mark.parametrize("policy", ["RandomizeNames", "PrefixTargetName"])
def test_no_claim_goes_for_other_restores(policy: str) -> None:
    with pytest.raises(Impossible, match=r'"vm-root" exists already and is not the restore\'s'):
        check_own(restore(policy=policy), plan(), BACKUP, machine(ON_CLAIM))
