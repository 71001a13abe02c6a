"""Crons that want one DataSource, and what the commands call them."""

from types import SimpleNamespace
from typing import cast

import click
import pytest
from golden_images import PLACE, cron, link, made

from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.cli.connection import Session
from ingot.cli.golden import found
from ingot.cli.golden.add import follow
from ingot.cli.golden.found import assemble, find
from ingot.cli.golden.kept import Kept
from ingot.cli.golden.plan import Plan
from ingot.cli.golden.rm import _ended, _parts, _refuse_heirs


def named(obj: Object, name: str) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "name": name, "uid": name, "creationTimestamp": f"2026-{name}"}}


class Server:
    """A client whose server has these crons, and makes no other of such a name."""

    def __init__(self, *crons: Object) -> None:
        self._crons = {name_of(each): each for each in crons}

    async def create(self, resource: Resource, obj: Object) -> Object:
        raise ApiError(409, "AlreadyExists", f"{name_of(obj)} is there")

    async def get(self, resource: Resource, name: str, namespace: str) -> Object:
        return self._crons[name]


def session(monkeypatch: pytest.MonkeyPatch, links: list[Object], *crons: Object) -> Session:
    """Of a server that has these, and one version of the image fedora."""

    async def find_all(_session: Session) -> list[found.Golden]:
        return assemble(links, crons, [Kept(made(1), None)])

    monkeypatch.setattr(found, "find_all", find_all)
    return cast(Session, SimpleNamespace(client=Server(*crons), namespace=PLACE))


async def test_a_cron_that_has_lost_is_never_taken_for_the_image_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    links = [link(1), named(link(1), "ubuntu")]
    opened = session(monkeypatch, links, named(cron(), "fedora"), named(cron("Conflict"), "ubuntu"))
    healthy, lost = await find(opened, "ubuntu"), await find(opened, "cron/ubuntu")
    assert (healthy.link, healthy.cron, healthy.has_lost) == (links[1], None, False)
    assert (lost.link, name_of(lost.cron or {}), lost.has_lost) == (None, "ubuntu", True)
    assert _parts(lost) == []
    assert _ended(lost) == "cron/ubuntu removed; what it has imported stays"


async def test_a_cron_that_has_lost_is_told_by_the_name_that_can_be_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = session(monkeypatch, [link(1)], named(cron(), "fedora"), named(cron("Conflict"), "late"))
    with pytest.raises(click.ClickException, match="another one has, is called cron/late here"):
        await find(opened, "late")


async def test_an_image_that_another_cron_would_bring_back_is_not_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    going = named(cron("Deleting"), "going")
    going["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"
    opened = session(monkeypatch, [link(1)], named(cron(), "fedora"), named(cron("Conflict"), "late"), going)
    with pytest.raises(click.ClickException) as refused:
        _refuse_heirs(await find(opened, "fedora"))
    assert refused.value.message == (
        "DataImportCron late would take fedora over, and follow a source of its own; end that first:\n"
        "  ingot golden rm cron/late --keep-images -n golden-images\n"
        "or let it have fedora:\n"
        "  ingot delete dataimportcron fedora -n golden-images"
    )
    _refuse_heirs(await find(opened, "cron/late"))


@pytest.mark.parametrize(
    ("name", "crons", "told"),
    [
        ("fedora", ["daily"], "DataImportCron daily .* makes golden image fedora already.*golden rm fedora --keep"),
        ("fedora", ["fedora", "late"], "DataImportCron late .* waits for golden image.*golden rm cron/late --keep"),
        ("fedora", ["fedora"], "DataImportCron fedora already, with another sched.*golden rm fedora --keep"),
        ("daily", ["daily"], "DataImportCron daily already, with another sched.*golden rm fedora --keep"),
        ("late", ["fedora", "late"], "DataImportCron late already, with another sched.*golden rm cron/late --keep"),
    ],
)
async def test_what_is_in_the_way_of_a_new_image_is_told_with_what_ends_it(
    name: str, crons: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = session(monkeypatch, [link(1), named(link(1), "late")], *(named(cron(), each) for each in crons))
    plan = Plan(name, PLACE, {"registry": {"url": "docker://far/fedora"}}, "@daily")
    with pytest.raises(click.ClickException, match=f"(?s){told}"):
        await follow(opened, plan, wait=True, seconds=None, output="text")
