from datetime import UTC, datetime, timedelta

import pytest

from ingot.standalone.access.certificates import hosts_of
from ingot.web.cluster.papers import Papers

HOSTS = ["ingot-gateway.ingot.svc", "uploads.example"]


def test_papers_come_back_from_their_secret_and_are_kept_while_they_are_good():
    papers = Papers.new(HOSTS)
    again = Papers.read({"data": papers.data()})
    assert again.data() == papers.data()
    assert again.renewed(HOSTS) is again
    assert again.renewed(HOSTS[:1]) is again


def test_a_certificate_is_renewed_in_time_or_for_another_name_by_the_same_authority():
    papers = Papers.new(HOSTS)
    for renewed in (
        papers.renewed(HOSTS, datetime.now(UTC) + timedelta(days=310)),
        papers.renewed([*HOSTS, "other.example"]),
    ):
        assert renewed.authority is papers.authority
        assert renewed.server.issued_by(papers.authority)
    assert hosts_of(renewed.server.certificate) == [*HOSTS, "other.example"]
    assert renewed.renewed(HOSTS) is renewed, "who wants fewer names leaves it as it is"


def test_an_authority_that_ends_takes_all_along():
    papers = Papers.new(HOSTS)
    renewed = papers.renewed(HOSTS, datetime.now(UTC) + timedelta(days=3600))
    assert not renewed.server.issued_by(papers.authority)


@pytest.mark.parametrize("damage", [{"ca.key": ""}, {"tls.crt": "!"}, {"tls.key": "bm8="}, {"ca.crt": None}])
def test_a_secret_that_somebody_has_changed_is_no_papers(damage):
    with pytest.raises(ValueError, match=r"base64|key|PEM|certificate"):
        Papers.read({"data": {**Papers.new(HOSTS).data(), **damage}})
