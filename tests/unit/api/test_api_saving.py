"""What nodes and controllers tell each other of full copies, on pods that others may write to."""

import pytest

from ingot.api.snapshot.saving import COPY, MEASURE, SAVING, Saving, Stage, kept_volumes, saved_volumes, saver_name

WHEN = "2023-11-14T22:13:20Z"


def pod(text):
    return {"metadata": {"name": "saver", "annotations": {SAVING: text}}}


@pytest.mark.parametrize(
    "saving",
    [
        Saving(Stage.WAITING, "Unreachable", "no answer"),
        Saving(Stage.MEASURED, sizes={"root": 1 << 40}),
        Saving(Stage.DONE, moment=WHEN, done=7, total=7),
        Saving(Stage.FAILED, "CopyFailed", "the guest has ended", since=WHEN),
    ],
)
def test_what_is_said_is_heard(saving):
    assert Saving.of(pod(saving.text())) == saving


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        '{"stage":"Elsewhere"}',
        '{"stage":"Measured","sizes":{"root":"large"}}',
        '{"stage":"Measured","sizes":["root"]}',
        '{"stage":"Done","moment":"yesterday"}',
        '{"stage":"Failed","since":"soon"}',
        '{"message":"no stage"}',
    ],
)
def test_what_cannot_be_understood_is_as_if_nothing_was_said(text):
    assert Saving.of(pod(text)) is None


def test_a_content_tells_which_volumes_are_full_copies_and_who_makes_them():
    volumes = [{"name": "root", "hostDisk": {"path": "/a"}}, {"name": "data", "dataVolume": {"name": "d"}}]
    backups = [
        {"volumeName": "root", "savedClaimName": "copy-of-root"},
        {"volumeName": "data", "volumeSnapshotName": "s"},
    ]
    saved = {"spec": {"template": {"spec": {"volumes": volumes}}}}
    content = {
        "metadata": {"uid": "u"},
        "spec": {"source": {"virtualMachine": saved}, "volumeBackups": backups},
    }
    assert saved_volumes(content) == {"root": "copy-of-root"}
    assert kept_volumes(content) == volumes[:1]
    assert (saver_name(content, MEASURE), saver_name(content, COPY)) == ("sizer-u", "saver-u")
