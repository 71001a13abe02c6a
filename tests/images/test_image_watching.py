"""What is the newest version, asked of real registries and of web servers of every sort (G3)."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from images.servers.documents import Documents
from images.servers.faulty import Asked, FaultyServer, answer
from images.test_registry_client import push
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings
from ingot.images.registry.tally import REQUESTS
from ingot.images.registry.transport import Transport
from ingot.images.watching import image
from ingot.images.watching.file import Visitor, newest_file
from ingot.images.watching.image import newest_image
from ingot.images.watching.version import Version

SUM = "ab" * 32


@contextmanager
def requests(most: int) -> Iterator[None]:
    """No more are made than that."""
    before = sum(REQUESTS.counts().values())
    yield
    assert sum(REQUESTS.counts().values()) - before <= most


def test_a_tag_is_followed_with_one_request(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference = repository()
    url = f"docker://{reference}"
    push(registry, reference, b"one")
    known = newest_image(registry, url, None)
    assert known.name == "v1"
    with requests(1):
        assert newest_image(registry, url, known) == known
    push(registry, reference, b"two")
    with requests(1):
        moved = newest_image(registry, url, known)
    assert moved.digest != known.digest
    pinned = f"docker://{reference.name}@{known.digest}"
    with requests(0):
        assert newest_image(registry, pinned, None).digest == known.digest


def test_without_a_tag_the_newest_release_is_found_with_one_request_while_nothing_changes(
    registry: Registry, repository: Callable[[], Reference]
) -> None:
    reference = repository()
    url = f"docker://{reference.name}"
    for tag in ("1.9.0", "1.10.0", "2.0.0-rc.1", "nightly"):
        push(registry, reference.tagged(tag), tag.encode())
    known = newest_image(registry, url, None)
    assert known.name == "1.10.0"
    with requests(1):
        assert newest_image(registry, url, known) == known
    assert newest_image(registry, url, known, prereleases=True).name == "2.0.0-rc.1"
    push(registry, reference.tagged("2.0.0"), b"2.0.0")
    assert newest_image(registry, url, known).name == "2.0.0"


def test_where_no_tag_is_a_version_it_is_latest_until_one_is(
    registry: Registry, repository: Callable[[], Reference]
) -> None:
    reference = repository()
    url = f"docker://{reference.name}"
    push(registry, reference.tagged("latest"), b"one")
    known = newest_image(registry, url, None)
    assert known.name == "latest"
    for _ in range(4):
        with requests(1):
            again = newest_image(registry, url, known)
        assert again == known
        known = again
    push(registry, reference.tagged("latest"), b"two")
    moved = looked(registry, url, known, 2)
    assert (moved.name, moved.digest != known.digest) == ("latest", True)
    push(registry, reference.tagged("1.0.0"), b"three")
    push(registry, reference.tagged("latest"), b"three")
    assert looked(registry, url, moved, 2).name == "1.0.0"


def test_where_no_tag_is_a_version_and_none_is_latest_some_are_told(
    registry: Registry, repository: Callable[[], Reference]
) -> None:
    reference = repository()
    for tag in ("edge", "jammy", "41"):
        push(registry, reference.tagged(tag), b"one")
    with pytest.raises(ImageFault, match=r"release of three numbers.* and none is latest") as told:
        newest_image(registry, f"docker://{reference.name}", None)
    assert told.value.subject == reference.name
    assert all(tag in told.value.message for tag in ("edge", "jammy", "41"))


@pytest.mark.parametrize("looks", [1, 2])
def test_a_release_is_found_though_latest_has_not_moved(
    registry: Registry, repository: Callable[[], Reference], looks: int
) -> None:
    reference = repository()
    url = f"docker://{reference.name}"
    push(registry, reference.tagged("latest"), b"one")
    known = looked(registry, url, newest_image(registry, url, None), looks)
    assert known.name == "latest"
    push(registry, reference.tagged("1.0.0"), b"two")
    assert looked(registry, url, known, 2).name == "1.0.0"


def test_latest_that_is_gone_is_told_by_the_second_look() -> None:
    tags, heads = [b'{"tags":["latest"]}'], [200]

    def handler(asked: Asked, client: socket.socket) -> None:
        if asked.path.startswith("/v2/disk/tags/"):
            answer(client, 200, tags[-1])
        else:
            answer(client, heads[-1], docker_content_digest=f"sha256:{SUM}")

    with FaultyServer(handler) as server, Registry(Settings(tries=1)) as client:
        url = f"docker://{server.host}/disk"
        known = newest_image(client, url, None)
        tags.append(b'{"tags":[]}')
        heads.append(404)
        with pytest.raises(ImageFault) as told:
            looked(client, url, known, 2)
        assert told.value.reason == "NotFound"


def test_a_list_of_tags_costs_a_request_for_each_thousand() -> None:
    pages = [f'{{"tags":["1.0.{page}"]}}'.encode() for page in range(3)]

    def handler(asked: Asked, client: socket.socket) -> None:
        path, _, page = asked.path.partition("&page=")
        number = int(page or 0)
        assert path in ("/v2/", "/v2/disk/tags/list?n=1000")
        following = f'<{path}&page={number + 1}>; rel="next"' if number + 1 < len(pages) else ""
        answer(client, 200, pages[number], link=following)

    with FaultyServer(handler) as server, Registry(Settings(tries=1)) as client:
        known = Version(f"sha256:{SUM}", "1.0.2", listed=True)
        for _ in range(2):
            before = len(server.asked)
            assert newest_image(client, f"docker://{server.host}/disk", known) == known
        assert len(server.asked) - before == len(pages)


def test_of_too_many_tags_none_is_chosen(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor are they kept: a list may have millions, and it is asked for again and again."""
    monkeypatch.setattr(image, "_MOST_TAGS", 3)
    documents = Documents({"/v2/disk/tags/list?n=1000": (200, b'{"tags":["1.0.0","1.0.1","1.0.2","1.0.3"]}', {})})
    with FaultyServer(documents) as server, pytest.raises(ImageFault, match="more than 3 tags"):
        newest_image(registry, f"docker://{server.host}/disk", None)


def looked(registry: Registry, url: str, known: Version, looks: int) -> Version:
    """What is known after so many looks."""
    for _ in range(looks):
        known = newest_image(registry, url, known)
    return known


def test_an_image_that_is_not_there_is_told(registry: Registry, repository: Callable[[], Reference]) -> None:
    with pytest.raises(ImageFault) as told:
        newest_image(registry, f"docker://{repository()}", None)
    assert told.value.reason == "NotFound"


class Web:
    """A web server with one file, which says of it what it is told to."""

    def __init__(self, headers: dict[str, str] | None = None, heads: bool = True) -> None:
        self.heads, self.headers = heads, headers or {}
        self.asked: list[str] = []
        self.sums = f"{SUM}  disk.qcow2\n"

    def __call__(self, asked: Asked, client: socket.socket) -> None:
        self.asked.append(f"{asked.method} {asked.path}")
        if asked.path == "/SUMS":
            answer(client, 200, self.sums.encode())
        elif asked.method == "HEAD" and not self.heads:
            answer(client, 405)
        else:
            with suppress(OSError):
                body = b"" if asked.method == "HEAD" else b"x" * 1000
                answer(client, 200, body, **self.headers)


def visitor() -> Visitor:
    return Visitor(Transport(Settings(tries=1)))


@pytest.mark.parametrize("header", [{"ETag": '"a"'}, {"Last-Modified": "Wed, 21 Oct 2026 07:28:00 GMT"}])
def test_a_file_is_known_by_what_its_server_says_of_it(header: dict[str, str]) -> None:
    web = Web(header)
    with FaultyServer(web) as server:
        url = f"{server.url}/disk.qcow2"
        known = newest_file(visitor(), url)
        assert web.asked == ["HEAD /disk.qcow2"]
        assert newest_file(visitor(), url) == known
        web.headers = {name: f"{value}b" for name, value in header.items()}
        assert newest_file(visitor(), url).digest != known.digest
        # Files that were unpacked together have one date, and some servers make an ETag of that.
        web.headers = header
        assert newest_file(visitor(), f"{server.url}/other/disk.qcow2").digest != known.digest
    if "Last-Modified" in header:
        assert known.name == "2026-10-21T07:28:00Z"


@pytest.mark.parametrize("change", [{}, {"Last-Modified": "Wed, 21 Oct 2026 07:28:01 GMT"}, {"Content-Length": "5"}])
def test_servers_of_one_name_with_etags_of_their_own_have_one_version_while_date_and_size_agree(
    change: dict[str, str],
) -> None:
    web = Web({"ETag": '"a"', "Last-Modified": "Wed, 21 Oct 2026 07:28:00 GMT", "Content-Length": "4"})
    with FaultyServer(web) as server:
        url = f"{server.url}/disk.qcow2"
        known = newest_file(visitor(), url)
        web.headers |= {"ETag": '"b"', **change}
        found = newest_file(visitor(), url, known=known)
        assert (found == known) == (not change)
        del web.headers["Content-Length"]
        assert newest_file(visitor(), url, known=known) != known


def test_a_server_that_answers_no_head_is_asked_by_get_which_is_broken_off() -> None:
    web = Web({"ETag": '"a"'}, heads=False)
    with FaultyServer(web) as server:
        newest_file(visitor(), f"{server.url}/disk.qcow2")
    assert web.asked == ["HEAD /disk.qcow2", "GET /disk.qcow2"]


def test_a_published_checksum_counts_more_than_what_the_server_says() -> None:
    web = Web({"ETag": '"a"'})
    with FaultyServer(web) as server:
        url, sums = f"{server.url}/disk.qcow2", f"{server.url}/SUMS"
        known = newest_file(visitor(), url, sums)
        assert (known.digest, known.checksum) == (f"sha256:{SUM}", f"sha256:{SUM}")
        assert web.asked == ["GET /SUMS"]
        web.headers = {"ETag": '"b"'}
        assert newest_file(visitor(), url, sums) == known


def test_checksums_of_another_server_are_asked_for_without_what_is_meant_for_the_first() -> None:
    with FaultyServer(Web()) as own, FaultyServer(Web()) as other:
        known = Visitor(Transport(Settings(tries=1)), "Basic c2VjcmV0", {"X-Token": "secret"})
        for server in (own, other):
            newest_file(known, f"{own.url}/disk.qcow2", f"{server.url}/SUMS")
    (welcome,), (stranger,) = own.asked, other.asked
    assert {"authorization", "x-token"} <= welcome.headers.keys()
    assert not {"authorization", "x-token"} & stranger.headers.keys()


def test_a_server_that_says_nothing_is_refused_with_the_cure() -> None:
    with FaultyServer(Web()) as server, pytest.raises(ImageFault) as told:
        newest_file(visitor(), f"{server.url}/disk.qcow2?token=secret")
    assert "ingot.io/checksum-file" in told.value.message
    assert "secret" not in str(told.value)
