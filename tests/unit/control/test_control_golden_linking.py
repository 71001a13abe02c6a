"""Which common DataSources an SSP leaves to crons, keeps itself, or leaves alone (G5)."""

import pytest

from ingot.api.cdi.names import IMPORT_CRON
from ingot.control.golden import belonging, common, linking
from ingot.control.golden.linking import Link, Seen, link_of

SSP = {"apiVersion": "ssp.kubevirt.io/v1beta1", "kind": "SSP", "metadata": {"name": "s", "namespace": "a", "uid": "1"}}
OTHER = {"source": {"pvc": {"name": "other", "namespace": "golden-images"}}}


def source(spec=None, label=None, ours=False):
    made = linking.new("fedora")
    made["spec"] = spec or made["spec"]
    if label is not None:
        made["metadata"]["labels"] = {IMPORT_CRON: label}
    if ours:
        belonging.take(made, SSP, made=True)
    return made


@pytest.mark.parametrize(
    ("seen", "link"),
    [
        ({}, Link.DANGLING),
        ({"ordered": True}, Link.AUTOMATIC),
        ({"ordered": True, "has_claim": True}, Link.DANGLING),
        ({"found": source(), "ordered": True, "has_claim": True}, Link.DANGLING),
        ({"found": source(label="true"), "ordered": True, "has_claim": True}, Link.AUTOMATIC),
        ({"found": source(label=""), "ordered": True, "has_claim": True}, Link.AUTOMATIC),
        ({"found": source(OTHER, label="cron"), "ordered": True}, Link.AUTOMATIC),
        ({"found": source(OTHER, label="cron")}, Link.FOREIGN),
        ({"found": source(OTHER)}, Link.FOREIGN),
        ({"found": source(OTHER), "ordered": True}, Link.FOREIGN),
        ({"found": source({"source": {}})}, Link.DANGLING),
        ({"found": source(OTHER, ours=True)}, Link.DANGLING),
        ({"found": source(OTHER, label="cron", ours=True)}, Link.DANGLING),
        ({"found": source(OTHER, label="mine", ours=True), "ordered": True, "managed": True}, Link.FOREIGN),
        ({"found": source(OTHER, label="gone", ours=True), "has_own": True}, Link.FOREIGN),
        ({"found": source(OTHER, label="gone", ours=True), "has_own": True, "ordered": True}, Link.AUTOMATIC),
    ],
)
def test_how_a_datasource_is_linked(seen, link):
    assert link_of(Seen("fedora", **seen), SSP) is link


def test_of_two_crons_the_one_that_has_the_datasource_keeps_it():
    followed = source(OTHER, label="second")
    linking.follow(followed, ["first", "second"])
    assert followed == source(OTHER, label="second")
    linking.follow(followed, ["first"])
    assert followed == source(OTHER, label="first")


def test_one_that_is_taken_back_dangles_and_belongs_to_no_cron_that_goes():
    taken = source(OTHER, label="cron", ours=True)
    taken["metadata"]["ownerReferences"] = [{"uid": "goes"}, {"uid": "stays"}]
    linking.cut(taken)
    linking.disown(taken, {"goes"})
    assert taken["spec"] == common.dangling("fedora")
    assert IMPORT_CRON not in taken["metadata"]["labels"]
    assert taken["metadata"]["ownerReferences"] == [{"uid": "stays"}]
