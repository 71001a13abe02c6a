"""`ingot image rm`: what goes, and what stays."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from images.servers.documents import Documents
from images.servers.faulty import Asked, FaultyServer, answer
from images.servers.registry import DockerRegistry
from images.test_registry_client import push
from images.test_registry_listing import attached
from images.test_registry_manifests import entry, image
from ingot.cli.main import cli
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.lazy.trace import TRACE
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import (
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
    Index,
    encode,
)
from ingot.images.registry.removal import remove
from ingot.images.registry.repository import Repository


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


def _registry_of(
    documents: Documents, digest: Digest, deletes: Callable[[str], bool]
) -> Callable[[Asked, socket.socket], None]:
    """A registry whose tags all stand for that digest, and which deletes at those paths only."""

    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.method == "DELETE":
            answer(client, 202 if deletes(asked.path) else 405)
        elif asked.method == "HEAD":
            answer(client, 200, docker_content_digest=str(digest))
        else:
            documents(asked, client)

    return handler


def test_rm_of_a_tag_where_the_registry_can_do_that() -> None:
    """Such registries keep the image, and its other tags."""
    body = encode(Index(manifests=[]))
    documents = Documents()
    digest = documents.index("a/b", "v1", body)

    with FaultyServer(_registry_of(documents, digest, lambda path: True)) as server:
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


@pytest.mark.parametrize("depth", [1, 2])
def test_rm_takes_no_image_from_the_index_of_another_tag_unasked(
    registry: Registry, repository: Callable[[], Reference], depth: int
) -> None:
    reference = repository()
    digest, _ = push(registry, reference, b"disk")
    raw, kind = registry.manifest(reference).raw, OCI_MANIFEST
    for level in range(depth):
        listed = encode(Index(manifests=[entry(raw, kind)]))
        registry.push_manifest(reference.tagged(f"all{level}"), listed, OCI_INDEX)
        raw, kind = listed, OCI_INDEX
    with pytest.raises(ImageFault, match=f"all{depth - 1}") as caught:
        remove(registry, reference)
    assert caught.value.reason == "OtherTags"
    assert registry.resolve(reference.tagged(f"all{depth - 1}")).digest == digest
    assert remove(registry, reference, every_tag=True) == digest


def test_rm_where_another_tag_cannot_be_read_tells_the_way_out(registry: Registry) -> None:
    documents = Documents({"/v2/a/b/tags/list?n=1000": (200, b'{"tags":["v1","old"]}', {})})
    digest = documents.manifest("a/b", "v1", image("wanted"))
    documents.index("a/b", "old", b'{"schemaVersion":1}')

    with FaultyServer(_registry_of(documents, digest, lambda path: path.endswith(str(digest)))) as server:
        reference = Reference.parse(f"{server.host}/a/b:v1")
        with pytest.raises(ImageFault, match=r"a/b:old: .*schema version 1.*--all-tags"):
            remove(registry, reference)
        assert remove(registry, reference, every_tag=True) == digest


def test_rm_where_another_tag_names_too_many_indexes(registry: Registry) -> None:
    """Whether the image is in one of them is not known."""
    documents = Documents({"/v2/a/b/tags/list?n=1000": (200, b'{"tags":["v1","all"]}', {})})
    digest = documents.manifest("a/b", "v1", image("wanted"))
    entries = [entry(b"%d" % number, OCI_INDEX) for number in range(200)]
    documents.index("a/b", "all", encode(Index(manifests=entries)))

    with FaultyServer(_registry_of(documents, digest, lambda path: False)) as server:
        with pytest.raises(ImageFault, match="more than 100 indexes"):
            remove(registry, Reference.parse(f"{server.host}/a/b:v1"))
        assert len(server.asked) < 110
