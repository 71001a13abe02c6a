"""What the arguments of a command mean."""

from typing import cast

import click
import pytest

from ingot.api.resource import Resource
from ingot.cli.target import Target, check_names, object_word, resolve
from ingot.kube.discovery import Discovery, Served, match


def served(plural: str, kind: str, group: str = "", *short: str, categories: tuple[str, ...] = ()) -> Served:
    resource = Resource(group, "v1", plural, kind)
    return Served(resource, plural.removesuffix("s"), short, categories, ("get", "list"), ())


PODS = served("pods", "Pod", "", "po", categories=("all",))
SERVICES = served("services", "Service", "", "svc", categories=("all",))
CLASSIC = served("classicvms", "VM", "kubevirt.io")
MACHINES = served("virtualmachines", "VirtualMachine", "kubevirt.io", "vm")
CORE_EVENTS = served("events", "Event")
EVENTS = served("events", "Event", "events.k8s.io")


class Known:
    async def all(self) -> list[Served]:
        return [PODS, SERVICES, CORE_EVENTS, CLASSIC, MACHINES, EVENTS]


def known() -> Discovery:
    return cast(Discovery, Known())


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("pods", PODS),
        ("Pod", PODS),
        ("po", PODS),
        ("events", CORE_EVENTS),
        ("events.events.k8s.io", EVENTS),
        ("event.v1.events.k8s.io", EVENTS),
        ("events.v1", CORE_EVENTS),
        ("virtualmachine", MACHINES),
        ("nothing", None),
        ("pods.apps", None),
    ],
)
async def test_a_type_has_many_names(name: str, found: Served | None) -> None:
    assert match(await Known().all(), name) is found


async def test_a_short_name_wins_over_the_kind_of_another_type() -> None:
    assert match(await Known().all(), "vm") is MACHINES


async def test_types_and_names_are_told_apart() -> None:
    assert await resolve(known(), ["po,svc"]) == [Target(PODS), Target(SERVICES)]
    assert await resolve(known(), ["po", "a", "b"]) == [Target(PODS, ("a", "b"))]
    assert await resolve(known(), ["po,pods"]) == [Target(PODS)]
    assert await resolve(known(), ["all"]) == [Target(PODS), Target(SERVICES)]


async def test_type_and_name_in_one_word_are_gathered_by_type() -> None:
    found = await resolve(known(), ["po/a", "svc/x", "pod/b", "po/a"])
    assert found == [Target(PODS, ("a", "b")), Target(SERVICES, ("x",))]


@pytest.mark.parametrize("arguments", [["po/a", "b"], ["po/"], ["/a"], ["po/a/b"]])
async def test_half_of_a_form_is_refused(arguments: list[str]) -> None:
    with pytest.raises(click.UsageError):
        await resolve(known(), arguments)


async def test_a_misspelt_type_is_answered_with_the_one_meant() -> None:
    with pytest.raises(click.ClickException, match="Did you mean virtualmachines"):
        await resolve(known(), ["virtualmachin"])
    with pytest.raises(click.ClickException, match="CustomResourceDefinition"):
        await resolve(known(), ["zzz"])


def test_names_do_not_go_with_selectors_or_all_namespaces() -> None:
    named = [Target(PODS, ("a",))]
    check_names(named, all_namespaces=False, selector="")
    check_names([Target(PODS)], all_namespaces=True, selector="a=b")
    with pytest.raises(click.UsageError, match="not both"):
        check_names(named, all_namespaces=False, selector="a=b")
    with pytest.raises(click.UsageError, match="one namespace"):
        check_names(named, all_namespaces=True, selector="")


def test_objects_are_named_by_kind_and_group() -> None:
    assert object_word({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}) == "pod/a"
    machine = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a"}}
    assert object_word(machine) == "virtualmachine.kubevirt.io/a"
