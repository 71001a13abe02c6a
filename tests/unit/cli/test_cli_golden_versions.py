"""Which version of a golden image is meant, and which one served before."""

import click
import pytest
from golden_images import cron, digest, golden, link, made

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.cli.golden.found import assemble
from ingot.cli.golden.history import _cells, _rows
from ingot.cli.golden.kept import Kept
from ingot.cli.golden.moving import stands_for
from ingot.cli.golden.standing import state_of
from ingot.cli.golden.version import back, before, choose


def test_a_version_is_chosen_by_tag_digest_or_name() -> None:
    image = golden(3, made(1, "38"), made(2, "39"), made(3, "40"))
    assert choose(image, "39").digest == digest(2)
    assert choose(image, "1111").digest == digest(1)
    assert choose(image, digest(1)).version == "38"
    assert choose(image, "fedora-" + "3" * 12).version == "40"
    with pytest.raises(click.ClickException, match='no version "41"; it has 40@33333333, 39@22222222, 38@11111111'):
        choose(image, "41")
    with pytest.raises(click.ClickException, match='"latest" may be any of latest@22222222, latest@11111111'):
        choose(golden(1, made(1), made(2)), "latest")
    assert choose(golden(1, made(1), made(2)), "latest@22222222").digest == digest(2)
    with pytest.raises(click.ClickException, match="is not imported"):
        choose(golden(1, made(1), made(2, "40", "Failed")), "40")


def served(*numbers: int, tag: str = "latest") -> list[Object]:
    """The versions of these numbers, each once, which the image came to in this order."""
    versions = {number: made(number, tag) for number in numbers}
    for turn, number in enumerate(numbers):
        versions[number]["metadata"]["annotations"][names.LAST_USE] = f"2026-02-01T00:00:{turn:02}.000000Z"
    return list(versions.values())


def in_another_class(version: Object, used: str) -> Object:
    """The same version once more, imported when the default class had changed."""
    head = version["metadata"]
    notes = {**head["annotations"], names.LAST_USE: used}
    return {**version, "metadata": {**head, "name": f"{head['name']}-f00baa", "annotations": notes}}


def test_before_the_present_version_is_the_one_that_served_before_it() -> None:
    assert before(golden(3, made(1), made(2, phase="Failed"), made(3))).digest == digest(1)
    assert before(golden(4, *served(1, 2, 3, 1, 4))).digest == digest(1), "3 was withdrawn"
    assert before(golden(1, *served(1, 2, 3, 1))).digest == digest(3), "its tag has moved back"
    with pytest.raises(click.ClickException, match=r"no version that served before .*name one of latest@22222222"):
        before(golden(1, made(1), made(2)))


def test_one_that_never_served_is_gone_back_to_when_there_is_no_other() -> None:
    assert before(golden(3, made(2), *served(1, 3))).digest == digest(1)
    assert before(golden(3, made(2), *served(3))).digest == digest(2)


def test_who_has_gone_back_goes_further_back() -> None:
    pinned = cron("Pinned", **{names.PINNED: digest(2), names.DESIRED_DIGEST: digest(3)})
    assert before(golden(2, *served(1, 2, 3, 2), follower=pinned)).digest == digest(1)
    pinned = cron("UpToDate", **{names.PINNED: digest(1), names.DESIRED_DIGEST: digest(1)})
    assert before(golden(1, *served(1, 2, 1), follower=pinned)).digest == digest(2), "it is pinned to the newest"


def test_the_same_version_in_another_class_is_not_the_one_before() -> None:
    old = served(1, 2)
    new = in_another_class(old[1], "2026-02-02T00:00:00.000000Z")
    moved = link(2)
    moved["spec"]["source"]["pvc"]["name"] = new["metadata"]["name"]
    (image,) = assemble([moved], [cron()], [Kept(each, None) for each in (*old, new)])
    assert before(image).digest == digest(1)
    same = [one for one in image.kept if one.digest == digest(2)]
    assert stands_for(image, same)
    assert stands_for(golden(2, *old, new), same)
    assert not stands_for(golden(1, *old, new), same)


def test_history_tells_the_class_of_a_version_that_is_there_twice() -> None:
    old, new = made(2), in_another_class(made(2), "2026-02-02T00:00:00.000000Z")
    old["spec"], claim = {"storage": {"storageClassName": "slow"}}, {"spec": {"storageClassName": "fast"}}
    (image,) = assemble([link(2)], [cron()], [Kept(made(1), None), Kept(old, None), Kept(new, claim)])
    rows = _rows(image, None)
    assert sorted((row["digest"], row["storageClass"]) for row in rows) == [
        (digest(1), ""),
        (digest(2), "fast"),
        (digest(2), "slow"),
    ]
    assert sorted(line["CLASS"] for line in _cells(rows)) == ["", "fast", "slow"]
    with pytest.raises(click.ClickException, match=r"it has latest@22222222, latest@11111111$"):
        choose(image, "39")
    (pinned,) = assemble([link(2)], [cron(**{names.PINNED: digest(2)})], image.kept)
    assert sorted(row["state"] for row in _rows(pinned, None)) == ["kept", "kept", "pinned"]
    assert "CLASS" not in _cells(_rows(golden(1, made(1), made(2)), None))[0]


def published(version: Object) -> Object:
    """The same version, which no cron has made."""
    return {**version, "metadata": {**version["metadata"], "labels": {}}}


def test_what_follows_an_image_goes_to_its_own_versions_alone() -> None:
    old, theirs, own = served(1, 2, 3)
    image = golden(3, old, published(theirs), own)
    assert [state_of(one, image) for one in image.kept] == ["current", "out of reach", "kept"]
    assert choose(image, "latest@11111111").digest == digest(1)
    cure = (
        "latest@22222222 of fedora was not imported by what follows fedora now, which can go to latest@33333333, "
        "latest@11111111 alone. To have that version, end the following first:\n"
        "  ingot golden rm fedora --keep-images -n golden-images\n"
        "  ingot golden rollback fedora fedora-222222222222 -n golden-images"
    )
    for text in ("", "2222"):
        with pytest.raises(click.ClickException) as refused:
            back(image, text)
        assert refused.value.message == cure
    (free,) = assemble([link(3)], [], image.kept)
    assert [state_of(one, free) for one in free.kept] == ["current", "kept", "kept"]
    assert before(free).digest == digest(2)


def test_an_image_may_stay_at_what_was_there_before_its_cron() -> None:
    image = golden(1, published(made(1)), made(2, phase="ImportInProgress"))
    assert choose(image, "latest").digest == digest(1)
    pinned = golden(1, *(one.any for one in image.kept), follower=cron("Pinned", **{names.PINNED: digest(1)}))
    assert [state_of(one, pinned) for one in pinned.kept] == ["importing", "pinned"]


def test_what_is_out_of_reach_is_not_offered() -> None:
    image = golden(1, made(1), published(made(2)), made(3))
    with pytest.raises(click.ClickException, match=r"is kept; name one of latest@33333333$"):
        before(image)
    with pytest.raises(click.ClickException, match=r"it has latest@33333333, latest@11111111$"):
        choose(image, "39")


def test_nobody_goes_back_to_the_present_version() -> None:
    image = golden(2, *served(1, tag="39"), *served(2, tag="40"))
    assert back(image, "39").digest == digest(1)
    for text in ("40", "2222"):
        with pytest.raises(click.ClickException, match="stands for 40@22222222 already; `ingot golden pin fedora`"):
            back(image, text)


def test_versions_of_one_second_are_told_apart_by_when_they_were_first_used() -> None:
    second, first = made(1), made(2)
    for one, part in ((first, "10"), (second, "20")):
        one["metadata"] |= {"creationTimestamp": "2026-01-01T00:00:00Z"}
        one["metadata"]["annotations"][names.LAST_USE] = f"2026-01-01T00:00:00.{part}0000Z"
    assert before(golden(1, second, first)).digest == digest(2)
