"""Sources, as they are named and as they are shown."""

import pytest

from ingot.images.fault import ImageFault
from ingot.images.pipeline.source import Kind, Source


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("-", Kind.STDIN, "standard input"),
        ("registry.example/disks/debian:12", Kind.REGISTRY, "registry.example/disks/debian:12"),
        ("docker://registry.example/debian", Kind.REGISTRY, "registry.example/debian"),
        ("127.0.0.1:5000/disks/debian:12.raw", Kind.REGISTRY, "127.0.0.1:5000/disks/debian:12.raw"),
        ("localhost/debian.iso", Kind.REGISTRY, "localhost/debian.iso"),
        ("debian:12.qcow2", Kind.REGISTRY, "debian:12.qcow2"),
        ("./debian.img", Kind.FILE, "debian.img"),
        ("disks/debian.raw", Kind.FILE, "disks/debian.raw"),
        ("file:///disks/debian%20new", Kind.FILE, "/disks/debian new"),
        ("https://host/disk.img", Kind.HTTP, "https://host/disk.img"),
        ("https://user:SECRET@host/disk.img", Kind.HTTP, "https://host/disk.img"),
        ("https://host/disk.img?X-Amz-Signature=SECRET", Kind.HTTP, "https://host/disk.img"),
        ("nbd+unix:///export?socket=/run/nbd", Kind.NBD, "nbd+unix:///export?socket=/run/nbd"),
        ("nbds://user:SECRET@host:10809/export", Kind.NBD, "nbds://host:10809/export"),
    ],
)
def test_is_shown_without_secrets(text: str, kind: Kind, shown: str) -> None:
    source = Source.parse(text)
    assert (source.kind, str(source)) == (kind, shown)


@pytest.mark.parametrize("text", ["", "ftp://user:SECRET@host/disk?key=SECRET"])
def test_what_is_no_source_is_refused_without_secrets(text: str) -> None:
    with pytest.raises(ImageFault, match="it may be") as caught:
        Source.parse(text)
    assert caught.value.reason == "BadSource"
    assert "SECRET" not in str(caught.value)
