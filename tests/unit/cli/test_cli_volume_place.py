"""Where the content of a volume comes from, as it is typed."""

import click
import pytest

from ingot.api.object import Object
from ingot.cli.volume.place import read_claim, read_source


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (
            "docker://registry.example/disks/debian:12",
            {"registry": {"url": "docker://registry.example/disks/debian:12"}},
        ),
        ("registry.example/disks/debian:12", {"registry": {"url": "docker://registry.example/disks/debian:12"}}),
        ("https://example.org/a.qcow2", {"http": {"url": "https://example.org/a.qcow2"}}),
        ("nbd://storage.local/a", {"nbd": {"url": "nbd://storage.local/a"}}),
        ("s3://bucket/a.qcow2", {"s3": {"url": "s3://bucket/a.qcow2"}}),
    ],
)
def test_an_address_becomes_a_source(text: str, source: Object) -> None:
    assert read_source(text) == source


def test_what_is_said_beside_it_is_in_the_source() -> None:
    found = read_source("https://example.org/a", "login", "ca", "sha256:00")
    wanted = {"url": "https://example.org/a", "secretRef": "login", "certConfigMap": "ca", "checksum": "sha256:00"}
    assert found == {"http": wanted}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/var/images/a.qcow2", "ingot volume upload"),
        ("-", "ingot volume upload"),
        ("ftp://example.org/a", "docker://"),
        ("", "docker://"),
    ],
)
def test_what_no_pod_could_fetch_is_refused_with_what_would_do(text: str, said: str) -> None:
    with pytest.raises(click.BadParameter, match=said):
        read_source(text)


def test_a_checksum_is_for_web_servers() -> None:
    with pytest.raises(click.BadParameter, match="--checksum is for"):
        read_source("docker://registry.example/a:1", checksum="sha256:00")


def test_a_claim_is_of_the_namespace_that_is_named_or_of_ones_own() -> None:
    assert read_claim("golden", "mine") == {"namespace": "mine", "name": "golden"}
    assert read_claim("images/golden", "mine") == {"namespace": "images", "name": "golden"}
    for text in ("", "a/", "/b", "a/b/c"):
        with pytest.raises(click.BadParameter, match="NAMESPACE/NAME"):
            read_claim(text, "mine")
