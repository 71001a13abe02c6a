"""Tags and repositories in pages, referrers by API and by tag, deletion."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from images.servers.documents import Documents
from images.servers.faulty import Asked, FaultyServer, answer
from images.servers.registry import DockerRegistry
from images.servers.undoing import undoing
from images.test_registry_client import push
from images.test_registry_manifests import image
from ingot.cli.main import cli
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.lazy.trace import TRACE
from ingot.images.reference import Reference
from ingot.images.registry import contest, listing
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
from ingot.images.registry.removal import remove
from ingot.images.registry.repository import Repository


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


def test_rm_takes_no_other_tag_along_unasked(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference = repository()
    push(registry, reference, b"disk")
    document = registry.manifest(reference)
    registry.push_manifest(reference.tagged("v2"), document.raw, document.media_type)
    run = CliRunner()
    refused = run.invoke(cli, ["image", "rm", str(reference)])
    assert refused.exit_code == 1
    assert "v2" in refused.output
    assert registry.digest(reference) == document.digest
    done = run.invoke(cli, ["image", "rm", "--all-tags", str(reference)])
    assert done.exit_code == 0, done.output
    for tag in ("v1", "v2"):
        with pytest.raises(ImageFault) as caught:
            registry.resolve(reference.tagged(tag))
        assert caught.value.reason == "NotFound"


def test_rm_of_what_is_not_there(docker_registry: DockerRegistry) -> None:
    done = CliRunner().invoke(cli, ["image", "rm", f"{docker_registry.host}/nothing/here:v1"])
    assert done.exit_code == 1
    assert done.output.startswith(f"Error: {docker_registry.host}/nothing/here:v1: ")


def test_rm_of_several_of_which_one_is_not_there(registry: Registry, repository: Callable[[], Reference]) -> None:
    missing, present = repository(), repository()
    push(registry, present, b"disk")
    done = CliRunner().invoke(cli, ["image", "rm", str(missing), str(present), "-o", "json"])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: {missing}: ")
    assert [row["reference"] for row in json.loads(done.stdout)] == [str(present)]


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


def test_rm_of_a_tag_where_the_registry_can_do_that() -> None:
    """Such registries keep the image, and its other tags."""
    body = encode(Index(manifests=[]))
    documents = Documents()
    digest = documents.index("a/b", "v1", body)

    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.method == "DELETE":
            answer(client, 202)
        elif asked.method == "HEAD":
            answer(client, 200, docker_content_digest=str(digest))
        else:
            documents(asked, client)

    with FaultyServer(handler) as server:
        run = CliRunner().invoke(cli, ["image", "rm", f"{server.host}/a/b:v1", "-o", "json"])
        assert json.loads(run.output) == [{"reference": f"{server.host}/a/b:v1", "digest": str(digest)}]
        assert [asked.path for asked in server.asked if asked.method == "DELETE"] == ["/v2/a/b/manifests/v1"]


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("by_digest", [True, False])
@pytest.mark.parametrize("status", [0, 504])
def test_rm_whose_answer_is_lost(registry: Registry, by_digest: bool, heard: bool, status: int) -> None:
    """The next try does not find what the first has removed."""
    documents = Documents()
    digest = documents.manifest("a/b", "v1", image("removed"))
    path = f"/v2/a/b/manifests/{digest if by_digest else 'v1'}"
    deletes = 0

    def handler(asked: Asked, client: socket.socket) -> None:
        nonlocal deletes
        there = path in documents.answers
        if asked.method == "DELETE":
            assert asked.path == path
            deletes += 1
            if deletes > 1 or heard:
                documents.answers.pop(path, None)
        if asked.method == "HEAD":
            answer(client, 200, docker_content_digest=str(digest))
        elif asked.method == "GET":
            documents(asked, client)
        elif deletes > 1:
            answer(client, 202 if there else 404)
        elif status:
            answer(client, status)
        else:
            client.shutdown(socket.SHUT_RDWR)

    with FaultyServer(handler) as server:
        reference = Reference.parse(f"{server.host}/a/b:v1")
        assert remove(registry, reference.at(digest) if by_digest else reference) == digest
    assert deletes == 2
    assert path not in documents.answers


def test_rm_takes_along_what_ingot_has_attached(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference = repository()
    digest, _ = push(registry, reference, b"disk")
    image = Descriptor(media_type=OCI_MANIFEST, digest=digest, size=len(registry.manifest(reference).raw))
    ours = [attached(registry, reference, image, TRACE, note) for note in ("one", "two")]
    theirs = attached(registry, reference, image, "application/x.signature", "three")
    # As one is whose deletion was interrupted.
    Repository(registry._endpoint(reference.registry), reference.repository).delete(ours[0], "x")
    assert remove(registry, reference) == digest
    for each in ours:
        with pytest.raises(ImageFault, match="not there"):
            registry.manifest(reference.at(each))
    assert [each.digest for each in registry.referrers(reference, digest)] == [theirs]


@pytest.mark.parametrize("by_digest", [True, False])
def test_rm_leaves_no_empty_list_of_what_was_attached(
    registry: Registry, repository: Callable[[], Reference], by_digest: bool
) -> None:
    reference = repository()
    digest, _ = push(registry, reference, b"disk")
    image = Descriptor(media_type=OCI_MANIFEST, digest=digest, size=len(registry.manifest(reference).raw))
    trace = attached(registry, reference, image, TRACE, "one")
    assert len(list(registry.tags(reference))) == 2
    if by_digest:
        remove(registry, reference.at(trace))
        assert list(registry.tags(reference)) == ["v1"]
    remove(registry, reference.at(digest) if by_digest else reference)
    assert list(registry.tags(reference)) == []


def test_rm_where_what_is_attached_cannot_be_listed(registry: Registry, caplog: pytest.LogCaptureFixture) -> None:
    documents = Documents()
    digest = documents.manifest("a/b", "v1", image("removed"))
    documents.answers[f"/v2/a/b/referrers/{digest}"] = (403, b"", {})

    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.method == "DELETE":
            answer(client, 202)
        else:
            documents(asked, client)

    with FaultyServer(handler) as server:
        assert remove(registry, Reference.parse(f"{server.host}/a/b@{digest}")) == digest
        assert [asked.path for asked in server.asked if asked.method == "DELETE"] == [f"/v2/a/b/manifests/{digest}"]
    assert "what is attached to it stays" in caplog.text


def test_rm_by_digest(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference = repository()
    digest, _ = push(registry, reference, b"disk")
    run = CliRunner().invoke(cli, ["image", "rm", f"{reference.name}@{digest}"])
    assert run.exit_code == 0, run.output
    assert list(registry.tags(reference)) == []
