"""Who loses a disk when a volume is removed."""

from typing import Any

import pytest

from ingot.api.cdi.names import COMPONENT
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import INSTANCES, MACHINES, PODS
from ingot.cli.goal import Deleted
from ingot.cli.volume.users import users_of
from ingot.kube.cache import Key

DATA = Key("ns", "data")
DISK = {"name": "disk", "persistentVolumeClaim": {"claimName": "data"}}


def head(name: str, owner: str = "", **more: Any) -> Object:
    owners = [{"kind": owner, "name": name, "uid": "u", "controller": True}] if owner else []
    return {"name": name, "namespace": "ns", "ownerReferences": owners, **more}


def machine(name: str, *volumes: Object, **more: Any) -> Object:
    return {"metadata": head(name, **more), "spec": {"template": {"spec": {"volumes": list(volumes)}}}}


def instance(name: str, phase: str = "Running", owner: str = "") -> Object:
    return {"metadata": head(name, owner), "spec": {"volumes": [DISK]}, "status": {"phase": phase}}


def pod(name: str, owner: str = "", **labels: str) -> Object:
    return {"metadata": head(name, owner, labels=labels), "spec": {"volumes": [DISK]}, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    ("objects", "users", "cures"),
    [
        ({MACHINES: [machine("web", DISK)]}, ['VirtualMachine "web"'], ["`ingot vm rm web`"]),
        (
            {MACHINES: [machine("web", {"name": "d", "dataVolume": {"name": "data"}})]},
            ['VirtualMachine "web"'],
            ["`ingot vm rm web`"],
        ),
        ({MACHINES: [machine("web", {"name": "d", "dataVolume": {"name": "other"}})]}, [], []),
        ({MACHINES: [machine("web", DISK, deletionTimestamp="2026-01-01T00:00:00Z")]}, [], []),
        ({INSTANCES: [instance("web"), instance("old", "Succeeded")]}, ['VirtualMachineInstance "web"'], None),
        ({PODS: [pod("own", INSTANCES.kind), pod("job")]}, ['Pod "job"'], ['end Pod "job"']),
        ({PODS: [pod("cloner", **{COMPONENT: "cdi-clone-source"})]}, [], []),
    ],
)
def test_users_are_named_with_what_to_do(
    objects: dict[Resource, list[Object]], users: list[str], cures: list[str] | None
) -> None:
    found = users_of(DATA, objects)
    assert [str(user) for user in found] == users
    assert cures is None or [user.cure for user in found] == cures


def test_who_runs_holds_it_until_they_have_ended() -> None:
    found = users_of(DATA, {MACHINES: [machine("web", DISK)], INSTANCES: [instance("web", owner="VirtualMachine")]})
    assert [(str(user), user.holds) for user in found] == [
        ('VirtualMachine "web"', False),
        ('VirtualMachineInstance "web"', True),
    ]
    going = {"metadata": {"uid": "1", "deletionTimestamp": "now", "finalizers": ["foregroundDeletion"]}}
    assert (
        Deleted("1", 'VirtualMachineInstance "web"')
        .seen(going)
        .endswith('until VirtualMachineInstance "web" has ended')
    )
