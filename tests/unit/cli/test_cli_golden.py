"""Golden images as the commands see them: schedules, versions, users, and the table."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import click
import pytest
from golden_images import PLACE, cron, digest, golden, link, made

from ingot.api.cdi import names
from ingot.api.cdi.schedule import Schedule
from ingot.api.object import Object, name_of
from ingot.api.resources import DATA_IMPORT_CRONS
from ingot.cli.golden.arrival import is_settled
from ingot.cli.golden.found import assemble
from ingot.cli.golden.kept import Kept, images_of
from ingot.cli.golden.ls import _cells, _row, until
from ingot.cli.golden.plan import Plan, differences, followed_source
from ingot.cli.golden.pruning import outdated
from ingot.cli.golden.schedule import schedule_of
from ingot.cli.golden.standing import problem, state_of, word
from ingot.cli.golden.users import users_of
from ingot.cli.table import lines
from ingot.control.golden.rivals import Rivals
from ingot.kube.cache import key_of
from ingot.kube.client import Client
from ingot.kube.manager import Manager


@pytest.mark.parametrize("every", ["1m", "30m", "1h", "12h", "60m", "1d", "24h", "1w", ""])
def test_how_often_becomes_a_schedule_that_is_the_images_own(every: str) -> None:
    said = schedule_of(every, "", "golden-images/fedora")
    Schedule.parse(said)
    assert said == schedule_of(every, "", "golden-images/fedora")
    assert every == "1m" or every == "30m" or said != schedule_of(every, "", "golden-images/debian")


@pytest.mark.parametrize(
    ("every", "schedule", "words"),
    [
        ("7h", "", "12h"),
        ("often", "", "--schedule"),
        ("0m", "", "1m to 30m"),
        ("", "99 * * * *", "minute"),
        ("12h", "@daily", "give one of them"),
    ],
)
def test_what_cron_cannot_keep_is_refused_with_what_it_can(every: str, schedule: str, words: str) -> None:
    with pytest.raises(click.UsageError, match=words):
        schedule_of(every, schedule, "golden-images/fedora")


def test_a_version_is_current_pinned_kept_failed_or_on_its_way() -> None:
    versions = [made(1), made(2), made(3, phase="Failed"), made(4, phase="ImportInProgress")]
    versions[3]["status"]["progress"] = "12.50%"
    image = golden(2, *versions, follower=cron("Pinned", **{names.PINNED: digest(1)}))
    assert [state_of(one, image) for one in image.kept] == ["importing 12.50%", "failed", "current", "pinned soon"]


def rival(name: str, reason: str = "UpToDate", **head: str) -> Object:
    found = cron(reason)
    found["metadata"] |= {"name": name, "uid": name, "creationTimestamp": "2026-01-02", **head}
    return found


@pytest.mark.parametrize(
    ("winner", "loser"),
    [
        (rival("second", creationTimestamp="2026-01-01"), rival("first", "Conflict")),
        (rival("first"), rival("second", "Conflict")),
        (rival("second"), rival("first", "Conflict", deletionTimestamp="2026-01-03")),
    ],
)
def test_one_of_two_crons_has_the_image_as_the_controllers_see_it(winner: Object, loser: Object) -> None:
    for crons in ([winner, loser], [loser, winner]):
        found, lost = assemble([link(1)], crons, [])
        assert found.cron is winner
        assert (found.name, found.namespace, found.current, found.has_lost) == ("fedora", PLACE, None, False)
        assert (lost.cron, lost.name, lost.has_lost) == (loser, f"cron/{name_of(loser)}", True)
        row = _row(lost, None)
        assert (row["name"], row["ready"], row["state"]) == (lost.name, False, "conflict")
        assert row["problem"] == "it is Conflict"
    manager = Manager(cast("Client", None))
    rivals = Rivals(manager)
    for each in (winner, loser):
        manager.informer(DATA_IMPORT_CRONS).cache.put(key_of(each), each)
    assert (rivals.holder(winner), rivals.holder(loser)) == (None, winner)


def test_what_was_published_is_known_by_its_name() -> None:
    kept = [Kept({**made(each), "metadata": {**made(each)["metadata"], "labels": {}}}, None) for each in (1, 2, 3)]
    (found,) = assemble([link(2)], [], kept)
    assert [one.digest for one in found.kept] == [digest(3), digest(2), digest(1)]
    assert [one.digest for one in outdated(found, 2)] == [digest(1)]
    assert outdated(found, 3) == []
    assert outdated(found, 2, left=kept[0]) == [], "it was left a moment ago"


def claim(namespace: str, name: str, **notes: str) -> Object:
    return {"metadata": {"namespace": namespace, "name": name, "annotations": notes}}


def machine(namespace: str, name: str, volume: Object) -> Object:
    inner = {"volumes": [{"name": "root", **volume}]}
    return {"metadata": {"namespace": namespace, "name": name}, "spec": {"template": {"spec": inner}}}


def test_users_are_machines_and_volumes_that_no_machine_has() -> None:
    origin = f"{PLACE}/fedora-{'1' * 12}"
    claims = [
        claim("lab", "web-root", **{names.CLONED_FROM: origin}),
        claim("lab", "spare", **{names.CLONED_FROM: origin}),
        claim("lab", "prime-1", **{names.CLONED_FROM: origin, names.PRIME_FOR: "lab/spare"}),
        claim("lab", "other"),
    ]
    machines = [
        machine("lab", "web", {"dataVolume": {"name": "web-root"}}),
        machine(PLACE, "reader", {"persistentVolumeClaim": {"claimName": f"fedora-{'2' * 12}"}}),
    ]
    users = users_of(claims, machines)
    assert users.of((PLACE, f"fedora-{'1' * 12}")) == ["lab/web", "volume lab/spare"]
    image = golden(2, made(2))
    assert users.gone(image) == [(PLACE, f"fedora-{'1' * 12}")]
    assert users.of_all(image) == [f"{PLACE}/reader", "lab/web", "volume lab/spare"]
    assert users.made_from(image) == ["lab/web", "volume lab/spare"], "the reader has no disk of its own"


@pytest.mark.parametrize(
    ("name", "images"),
    [
        ("fedora-0123456789ab", ["fedora"]),
        ("fedora-0123456789ab-f00baa", ["fedora"]),
        ("a-0123456789ab-0123456789ab", ["a", "a-0123456789ab"]),
        ("fedora-0123456789abc", []),
        ("-0123456789ab", []),
        ("fedora", []),
    ],
)
def test_a_claim_tells_by_its_name_which_image_it_is_a_version_of(name: str, images: list[str]) -> None:
    assert list(images_of(name)) == images


def test_a_line_of_the_list_fits_a_hundred_columns() -> None:
    soon = (datetime.now(UTC) + timedelta(hours=9, minutes=30)).isoformat()
    image = golden(1, made(1, "40.20260101.0"), follower=cron("Unreachable", **{names.NEXT_CRON_TIME: soon}))
    row = _row(image, users_of([], []))
    assert row["source"] == "docker://far/fedora"
    assert (row["ready"], row["state"], row["problem"]) == (True, "unreachable", "it is Unreachable")
    cells: dict[str, Any] = _cells(row)
    assert cells["next"] == "9h"
    assert (cells["ready"], cells["used by"]) == ("yes, unreachable", "0")
    table = lines([title.upper() for title in cells], [list(cells.values())], 200)
    assert max(map(len, table)) <= 100


@pytest.mark.parametrize(("moment", "said"), [("", "-"), ("2020-01-01T00:00:00Z", "now"), ("soon", "<invalid>")])
def test_when_it_is_looked_for_next(moment: str, said: str) -> None:
    assert until(moment) == said


@pytest.mark.parametrize("reason", ["UpToDate", "Pinned", "Unmanaged", "ImportProgressing", "NoImport"])
def test_nobody_has_to_see_to_what_goes_well(reason: str) -> None:
    assert problem(golden(1, made(1), follower=cron(reason))) == ""


def test_an_import_that_does_not_get_on_is_told() -> None:
    under_way = made(2, phase="ImportInProgress")
    image = golden(1, made(1), under_way, follower=cron("ImportProgressing"))
    assert problem(image) == ""
    under_way["status"]["conditions"] = [{"type": "Running", "status": "False", "message": "it is tried again"}]
    assert problem(image) == _row(image, None)["problem"] == "it is ImportProgressing"


def test_a_pin_is_shown_wherever_it_is() -> None:
    pin = {names.PINNED: digest(1), names.DESIRED_DIGEST: digest(1)}
    for reason, state, said in [
        ("UpToDate", "pinned", "yes, pinned"),
        ("Pinned", "pinned", "yes, pinned"),
        ("Unreachable", "unreachable", "yes, unreachable, pinned"),
    ]:
        row = _row(golden(1, made(1), follower=cron(reason, **pin)), None)
        assert (row["state"], row["pinned"], _cells(row)["ready"]) == (state, digest(1), said)
    assert _row(golden(1, made(1)), None)["pinned"] == ""


def test_a_pin_that_is_no_digest_is_none_and_nobody_waits_for_it() -> None:
    follower = cron("BadPin", **{names.PINNED: "3f2a1b9c", names.DESIRED_DIGEST: digest(2)})
    found = golden(1, made(1), made(2), follower=follower)
    assert (found.pinned, found.is_held_back, word(found), problem(found)) == ("", False, "bad pin", "it is BadPin")
    with pytest.raises(click.ClickException, match="'3f2a1b9c', which is no digest, and stays"):
        is_settled(found)


def test_a_name_without_an_image_is_no_problem_and_one_whose_image_is_gone_is() -> None:
    (gone,) = assemble([link(1, "False")], [], [])
    assert problem(gone) == "it is not there"
    for source in ({}, {"pvc": {"namespace": PLACE, "name": "fedora"}}):
        (free,) = assemble([{**link(1, "False"), "spec": {"source": source}}], [], [])
        assert problem(free) == ""


def test_a_plan_is_the_same_again_and_another_is_told_by_its_fields() -> None:
    source = followed_source("quay.io/containerdisks/fedora:40", "login", "")
    assert source == {"registry": {"url": "docker://quay.io/containerdisks/fedora:40", "secretRef": "login"}}
    plan = Plan("fedora", PLACE, source, "17 */12 * * *", size="10Gi", prereleases=True).cron()
    assert differences(plan, plan) == []
    other = Plan("fedora", PLACE, source, "@daily", size="10Gi").cron()
    assert differences(other, plan) == ["schedule", names.PRERELEASES]


@pytest.mark.parametrize(
    ("size", "there", "larger"),
    [("64Mi", "", True), ("64Mi", "4Mi", True), ("1Gi", "1024Mi", False), ("64Mi", "1Gi", False), ("", "", False)],
)
def test_a_plan_tells_whether_a_version_is_smaller_than_it_says(size: str, there: str, larger: bool) -> None:
    plan, before = (Plan("fedora", PLACE, {}, "@daily", size=each) for each in (size, there))
    assert plan.is_larger(before.cron()["spec"]["template"]) == larger


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nbd://far/fedora", "has no versions that could be followed"),
        ("ftp://far/fedora", "^ftp://far/fedora: a golden image comes from HOST/REPOSITORY"),
        ("s3://bucket/fedora", "a golden image comes from HOST/REPOSITORY"),
        ("fedora.qcow2", "`ingot golden publish FILE` makes it a golden image"),
    ],
)
def test_what_has_no_versions_is_refused_with_what_has(text: str, words: str) -> None:
    with pytest.raises(click.BadParameter, match=words) as refused:
        followed_source(text, "", "")
    assert not any(scheme in refused.value.message.removeprefix(text) for scheme in ("nbd://", "s3://"))


@pytest.mark.parametrize("reason", ["Conflict", "Unmanaged", "Deleting"])
def test_nobody_waits_for_an_image_that_is_not_its_crons(reason: str) -> None:
    with pytest.raises(click.ClickException, match=f"^fedora: it is {reason}$"):
        is_settled(golden(1, made(1), follower=cron(reason, **{names.DESIRED_DIGEST: digest(2)})))


def test_nobody_waits_for_an_import_that_the_server_refuses() -> None:
    looked = {names.DESIRED_DIGEST: digest(2), names.LAST_CRON_TIME: "2026-01-02T00:00:00Z"}
    follower = cron("ImportFailed", **looked)
    assert not is_settled(golden(1, made(1), follower=follower)), "the status is of an earlier look"
    follower["status"]["lastExecutionTimestamp"] = looked[names.LAST_CRON_TIME]
    assert not is_settled(golden(1, made(1), made(2, phase="ImportInProgress"), follower=follower))
    with pytest.raises(click.ClickException, match="it is ImportFailed"):
        is_settled(golden(1, made(1), follower=follower))
