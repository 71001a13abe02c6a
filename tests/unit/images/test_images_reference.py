"""References and digests are read as docker reads them, and nothing else gets through."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference

SHA = "sha256:" + "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("debian", "docker.io/library/debian:latest"),
        ("debian:12", "docker.io/library/debian:12"),
        ("vmdisks/fedora25:latest", "docker.io/vmdisks/fedora25:latest"),
        ("docker.io/debian", "docker.io/library/debian:latest"),
        ("index.docker.io/debian", "docker.io/library/debian:latest"),
        ("docker://quay.io/a/b__c/d-e.f:V_1.2-3", "quay.io/a/b__c/d-e.f:V_1.2-3"),
        ("localhost/x", "localhost/x:latest"),
        ("localhost:5000/x", "localhost:5000/x:latest"),
        ("Quay.IO/x", "quay.io/x:latest"),
        ("[::1]:5000/x:t", "[::1]:5000/x:t"),
        (f"quay.io/x@{SHA}", f"quay.io/x@{SHA}"),
        (f"quay.io/x:t@{SHA}", f"quay.io/x:t@{SHA}"),
    ],
)
def test_normal_forms(text: str, whole: str) -> None:
    assert str(Reference.parse(text)) == whole


@pytest.mark.parametrize(
    "text",
    [
        "", "/", "a/", "/a", "a//b", "A", "a/B", "quay.io/", "quay.io:x/y", "quay.io:0/y", "quay.io:65536/y",
        "-a.b/c", "a..b/c", "a:", "a:-x", "a:" + "x" * 129, "a@", "a@sha256:00", "a@md5:" + "0" * 32, "a@b@c",
        f"a@{SHA.upper()}", "a b", "a\n", "a/../b", "quay.io/../x", "[::1/x", "[zz]:1/x", "x.y/" + "a" * 256, "ä.b/c",
        "docker://", "http://a/b", "a" * 2000, "user@host/x", "a.b/c:d/e", "quay.io/x?y", "quay.io/x#y", "quay.io/%2e",
    ],
)  # fmt: skip
def test_what_is_no_reference(text: str) -> None:
    with pytest.raises(ImageFault) as caught:
        Reference.parse(text)
    assert caught.value.reason in ("BadReference", "BadDigest")
    assert len(str(caught.value)) < 600


def test_parts_and_changes() -> None:
    reference = Reference.parse("quay.io/a/b:t")
    assert (reference.registry, reference.repository, reference.tag, reference.digest) == ("quay.io", "a/b", "t", None)
    assert reference.target == "t"
    pinned = reference.at(Digest.parse(SHA))
    assert pinned.target == SHA
    assert str(pinned.tagged("u")) == "quay.io/a/b:u"
    assert pinned.name == "quay.io/a/b"


def test_a_repository_has_no_tag() -> None:
    assert Reference.repository_of("quay.io:5000/a/b").tag is None
    for text in ("quay.io/a/b:t", f"quay.io/a/b@{SHA}", "a:t"):
        with pytest.raises(ImageFault, match="without a tag"):
            Reference.repository_of(text)


@given(st.text(max_size=60) | st.text(string.ascii_letters + string.digits + "._-:/@[]", max_size=60))
def test_whatever_is_accepted_is_the_same_when_read_again(text: str) -> None:
    try:
        reference = Reference.parse(text)
    except ImageFault:
        return
    assert Reference.parse(str(reference)) == reference
    # Nothing that could change the meaning of an address.
    assert not set(str(reference)) & set("?#% \\\r\n")
    assert ".." not in reference.repository


def test_digests() -> None:
    digest = Digest.of(b"disk")
    assert Digest.parse(str(digest)) == digest
    assert hash(Digest.parse(str(digest))) == hash(digest)
    assert digest.raw.hex() == digest.hex
    digest.check(b"disk", "x")
    with pytest.raises(ImageFault, match="which it should be") as caught:
        digest.check(b"disc", "x")
    assert caught.value.reason == "WrongDigest"
    assert Digest.parse("sha512:" + "a" * 128) != digest


@given(st.text(max_size=80) | st.from_regex("sha(256|512):[0-9a-fA-F]{60,130}", fullmatch=True))
def test_only_whole_digests_are_read(text: str) -> None:
    try:
        digest = Digest.parse(text)
    except ImageFault:
        return
    assert str(digest) == text
    assert len(digest.raw) in (32, 64)
