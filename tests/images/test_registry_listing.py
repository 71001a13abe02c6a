"""Tags and repositories in pages, referrers by API and by tag."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from images.servers.documents import Documents
from images.servers.faulty import Asked, FaultyServer, answer
from images.servers.undoing import undoing
from images.test_registry_client import push
from ingot.cli.main import cli
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry import contest, listing, referrers
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import (
    OCI_CONFIG,
    OCI_EMPTY,
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
    Index,
    Manifest,
    Platform,
    encode,
)


def test_tags(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference = repository()
    push(registry, reference, b"disk")
    document = registry.manifest(reference)
    wanted = [f"t{number:02}" for number in range(25)]
    for tag in wanted:
        registry.push_manifest(reference.tagged(tag), document.raw, document.media_type)
    assert sorted(registry.tags(reference)) == sorted([*wanted, "v1"])


def test_pages_are_followed() -> None:
    documents = Documents()
    for number in range(5):
        link = {"link": f'</v2/a/b/tags/list?n=1000&last={number + 1}>; rel="next"'} if number < 4 else {}
        last = f"&last={number}" if number else ""
        body = json.dumps({"name": "a/b", "tags": [f"t{number}"]}).encode()
        documents.answers[f"/v2/a/b/tags/list?n=1000{last}"] = (200, body, link)
    with FaultyServer(documents) as server, Registry() as registry:
        assert list(registry.tags(Reference.parse(f"{server.host}/a/b"))) == [f"t{number}" for number in range(5)]


@pytest.mark.parametrize(
    ("body", "link"),
    [
        (b'{"tags":["a"]}', '</v2/a/b/tags/list?n=1000>; rel="next"'),
        (b'{"tags":"a"}', ""),
        (b'{"tags":["../../../etc"]}', ""),
        (b'{"tags":["\\u001b[31m"]}', ""),
        (b"[" * 100_000, ""),
        (b'{"tags":["a"]}', '<http://[::1>; rel="next"'),
    ],
)
def test_absurd_lists(registry: Registry, body: bytes, link: str) -> None:
    documents = Documents({"/v2/a/b/tags/list?n=1000": (200, body, {"link": link})})
    with FaultyServer(documents) as server, pytest.raises(ImageFault) as caught:
        list(registry.tags(Reference.parse(f"{server.host}/a/b")))
    assert caught.value.reason == "BadAnswer"


def test_a_list_that_comes_a_little_at_a_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def page(asked: Asked, client: socket.socket) -> None:
        answer(client, 200, b'{"tags":[]}', link=f'</v2/a/b/tags/list?last={asked.number}>; rel="next"')

    monkeypatch.setattr(listing, "_MOST_SECONDS", 0.1)
    with FaultyServer(page) as server, Registry() as registry, pytest.raises(ImageFault) as told:
        list(registry.tags(Reference.parse(f"{server.host}/a/b")))
    assert (told.value.reason, told.value.retry) == ("TooSlow", True)


def test_repositories(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference = repository()
    push(registry, reference, b"disk")
    assert reference.repository in list(registry.repositories(reference.registry))


def attached(registry: Registry, reference: Reference, image: Descriptor, kind: str, note: str) -> Digest:
    """A referrer of that type."""
    empty = registry.push_blob(reference, [b"{}"], media_type=OCI_EMPTY, digest=Digest.of(b"{}"))
    manifest = Manifest(config=empty, layers=[empty], artifact_type=kind, subject=image, annotations={"note": note})
    raw = encode(manifest)
    return registry.push_manifest(reference.at(Digest.of(raw)), raw, OCI_MANIFEST)


def test_referrers_by_tag(registry: Registry, repository: Callable[[], Reference]) -> None:
    """docker-registry has no API for them."""
    reference = repository()
    digest, _ = push(registry, reference, b"disk")
    image = Descriptor(media_type=OCI_MANIFEST, digest=digest, size=len(registry.manifest(reference).raw))
    assert registry.referrers(reference, digest) == []
    first = attached(registry, reference, image, "application/x.trace", "one")
    second = attached(registry, reference, image, "application/x.index", "two")
    attached(registry, reference, image, "application/x.trace", "one")
    assert [each.digest for each in registry.referrers(reference, digest)] == [second, first]
    (found,) = registry.referrers(reference, digest, "application/x.trace")
    assert found.digest == first
    assert found.note("note") == "one"
    registry.delete(reference.at(first))
    assert [each.digest for each in registry.referrers(reference, digest)] == [second]


@pytest.mark.parametrize("stale", [1, 2, 3])
def test_referrers_that_others_list_at_the_same_time(
    registry: Registry, repository: Callable[[], Reference], monkeypatch: pytest.MonkeyPatch, stale: int
) -> None:
    """They have read the list before us, and write it after us."""
    monkeypatch.setattr(contest, "_MOST_TURNS", 3)
    reference = repository()
    digest, _ = push(registry, reference, b"disk")
    image = Descriptor(media_type=OCI_MANIFEST, digest=digest, size=len(registry.manifest(reference).raw))
    theirs = attached(registry, reference, image, "application/x.trace", "theirs")
    with undoing(reference, f"sha256-{digest.hex}", stale) as through:
        if stale == 3:
            with pytest.raises(ImageFault, match="others change it") as caught:
                attached(registry, through, image, "application/x.trace", "ours")
            assert caught.value.retry
            return
        ours = attached(registry, through, image, "application/x.trace", "ours")
    assert [each.digest for each in registry.referrers(reference, digest)] == [theirs, ours]


@pytest.mark.parametrize("stale", [1, 2, 3])
def test_a_referrer_that_others_put_back_while_it_is_removed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, stale: int
) -> None:
    """In a registry that does not look whether all that a list names is there."""
    monkeypatch.setattr(contest, "_MOST_TURNS", 3)
    documents = Documents()
    subject = Descriptor(media_type=OCI_MANIFEST, digest=Digest.of(b"image"), size=5)
    empty = Descriptor(media_type=OCI_EMPTY, digest=Digest.of(b"{}"), size=2)
    manifest = encode(Manifest(config=empty, layers=[], artifact_type="application/x.trace", subject=subject))
    ours = Descriptor(media_type=OCI_MANIFEST, digest=documents.manifest("a/b", "ours", manifest), size=len(manifest))
    theirs = Descriptor(media_type=OCI_MANIFEST, digest=Digest.of(b"theirs"), size=6)
    tag = f"sha256-{subject.digest.hex}"
    documents.index("a/b", tag, encode(Index(manifests=[theirs, ours])))
    left = stale

    def handler(asked: Asked, client: socket.socket) -> None:
        nonlocal left
        if asked.method == "GET":
            documents(asked, client)
            return
        if asked.method == "DELETE":
            del documents.answers[asked.path]
        elif left:
            left -= 1
        else:
            documents.index("a/b", tag, asked.body)
        answer(client, 202)

    with FaultyServer(handler) as server:
        reference = Reference.parse(f"{server.host}/a/b")
        if stale == 3:
            with pytest.raises(ImageFault, match="others change it") as caught:
                registry.delete(reference.at(ours.digest))
            assert caught.value.retry
            return
        registry.delete(reference.at(ours.digest))
        assert registry.referrers(reference, subject.digest) == [theirs]


def test_referrers_by_api(registry: Registry) -> None:
    digest = Digest.of(b"image")
    found = Descriptor(media_type=OCI_MANIFEST, digest=Digest.of(b"r"), size=1, artifact_type="application/x.trace")
    documents = Documents()
    path = f"/v2/a/b/referrers/{digest}"
    first, second = (encode(Index(manifests=[each])) for each in (found, found))
    documents.answers[path] = (200, first, {"content_type": OCI_INDEX, "link": f'<{path}?page=2>; rel="next"'})
    documents.answers[f"{path}?page=2"] = (200, second, {"content_type": OCI_INDEX})
    with FaultyServer(documents) as server:
        reference = Reference.parse(f"{server.host}/a/b")
        assert registry.referrers(reference, digest, "application/x.trace") == [found, found]
        assert registry.referrers(reference, digest, "application/x.other") == []


def referrers_in_pages(digest: Digest) -> Documents:
    """Four of one kind and one of another, three times."""
    kinds = ["application/x.trace"] * 4 + ["application/x.other"]
    listed = [Descriptor(media_type=kind, digest=digest, size=1, artifact_type=kind) for kind in kinds]
    path = f"/v2/a/b/referrers/{digest}"
    documents = Documents()
    for place, following in (("", 2), ("?2", 3), ("?3", 0)):
        link = {"link": f'<{path}?{following}>; rel="next"'} if following else {}
        documents.answers[f"{path}{place}"] = 200, encode(Index(manifests=listed)), {"content_type": OCI_INDEX, **link}
    return documents


def test_of_referrers_only_those_of_a_kind_are_kept(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = Digest.of(b"image")
    monkeypatch.setattr(referrers, "_MOST_FOUND", 11)
    with FaultyServer(referrers_in_pages(digest)) as server:
        reference = Reference.parse(f"{server.host}/a/b")
        assert len(registry.referrers(reference, digest, "application/x.other")) == 3
        with pytest.raises(ImageFault, match="more than 11 referrers"):
            registry.referrers(reference, digest, "application/x.trace")


def test_referrers_that_are_large_together(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = Digest.of(b"image")
    documents = referrers_in_pages(digest)
    monkeypatch.setattr(referrers, "_MOST_LIST", sum(len(body) for _, body, _ in documents.answers.values()) - 1)
    with FaultyServer(documents) as server, pytest.raises(ImageFault) as caught:
        registry.referrers(Reference.parse(f"{server.host}/a/b"), digest, "application/x.other")
    assert caught.value.reason == "TooLarge"


def test_ls_shows_repositories_and_tags(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference = repository()
    digest, _ = push(registry, reference, b"disk" * 1000)
    raw = encode(
        Index(
            manifests=[Descriptor(media_type=OCI_MANIFEST, digest=digest, size=len(registry.manifest(reference).raw))]
        )
    )
    registry.push_manifest(reference.tagged("all"), raw, OCI_INDEX)
    run = CliRunner()
    assert reference.name in run.invoke(cli, ["image", "ls", reference.registry]).output.splitlines()
    shown = run.invoke(cli, ["image", "ls", reference.name])
    assert [line.split()[0] for line in shown.output.splitlines()] == ["TAG", "all", "v1"]
    rows = json.loads(run.invoke(cli, ["image", "ls", reference.name, "-o", "json"]).output)
    assert rows[1] == {"tag": "v1", "digest": str(digest), "size": 4000, "platforms": ["linux/amd64"], "fault": ""}


def test_ls_leaves_out_what_is_attached(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference = repository()
    digest, _ = push(registry, reference, b"disk")
    image = Descriptor(media_type=OCI_MANIFEST, digest=digest, size=len(registry.manifest(reference).raw))
    attached(registry, reference, image, "application/x.trace", "one")
    for options, tags in (([], ["v1"]), (["--all"], [f"sha256-{digest.hex}", "v1"])):
        run = CliRunner().invoke(cli, ["image", "ls", reference.name, *options])
        assert [line.split()[0] for line in run.output.splitlines()] == ["TAG", *tags]


def test_ls_shows_what_images_are_for_and_how_large_they_are(
    registry: Registry, repository: Callable[[], Reference]
) -> None:
    reference = repository()
    config = b'{"os":"linux","architecture":"arm64","variant":"v8"}'
    described = registry.push_blob(reference, [config], media_type=OCI_CONFIG)
    entries = []
    for size in (3000, 7000):
        layer = registry.push_blob(reference, [b"x" * size], media_type="application/vnd.oci.image.layer.v1.tar")
        raw = encode(Manifest(config=described, layers=[layer]))
        digest = registry.push_manifest(reference, raw, OCI_MANIFEST)
        platform = Platform(os="linux", architecture=f"a{size}")
        entries.append(Descriptor(media_type=OCI_MANIFEST, digest=digest, size=len(raw), platform=platform))
    registry.push_manifest(reference.tagged("all"), encode(Index(manifests=entries)), OCI_INDEX)
    found = CliRunner().invoke(cli, ["image", "ls", reference.name, "-o", "json"])
    assert [(row["tag"], row["size"], row["platforms"], row["fault"]) for row in json.loads(found.output)] == [
        ("all", 7000, ["linux/a3000", "linux/a7000"], ""),
        ("v1", 7000, ["linux/arm64/v8"], ""),
    ]


def test_one_tag_that_cannot_be_used_does_not_hide_the_others() -> None:
    documents = Documents({"/v2/a/b/tags/list?n=1000": (200, b'{"tags":["old","gone","all"]}', {})})
    documents.manifest("a/b", "old", b'{"schemaVersion":1}')
    entry = Descriptor(
        media_type=OCI_MANIFEST,
        digest=Digest.of(b"x"),
        size=1,
        platform=Platform(os="linux", architecture="arm64\x1b[31m"),
    )
    documents.index("a/b", "all", encode(Index(manifests=[entry])))
    with FaultyServer(documents) as server:
        run = CliRunner().invoke(cli, ["image", "ls", f"{server.host}/a/b"])
    assert run.exit_code == 0
    every, gone, old = run.output.splitlines()[1:]
    assert "linux/arm64?[31m" in every
    assert "it is not there" in gone
    assert "schema version 1" in old
