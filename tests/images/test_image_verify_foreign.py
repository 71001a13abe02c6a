"""`ingot image verify` of images whose disk is in a format that QEMU alone decodes, in a layer with chunks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ingot.cli.main import cli
from ingot.images.content import FileContent
from ingot.images.digest import Digest
from ingot.images.push import LAYER
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_CONFIG, OCI_MANIFEST, Descriptor, Manifest, encode
from ingot.images.zstd_chunked.writer import LayerWriter

SIZE = 4 << 20
PLACE = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk.raw"
    path.write_bytes(os.urandom(2 << 20) + bytes(SIZE - (2 << 20)))
    return path


@pytest.fixture(params=[("vmdk",), ("vdi",), ("vhdx",), ("vpc", "-o", "force_size=on")], ids=lambda made: made[0])
def pushed(
    request: pytest.FixtureRequest, registry: Registry, repository: Callable[[], Reference], disk: Path
) -> Reference:
    """As buildah pushes it with `--compression-format zstd:chunked`."""
    reference, image = repository(), disk.with_name("image")
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", *request.param, disk, image], check=True)
    with FileContent(image) as content:
        writer = LayerWriter(content, "disk", "image")
        sent = registry.push_blob(reference, writer, media_type=LAYER)
    layer = Descriptor(media_type=LAYER, digest=sent.digest, size=sent.size, annotations=writer.annotations)
    config = registry.push_blob(reference, [b"{}"], media_type=OCI_CONFIG, digest=Digest.of(b"{}"))
    registry.push_manifest(reference, encode(Manifest(config=config, layers=[layer])), OCI_MANIFEST)
    return reference


def verify(*arguments: Reference | Path) -> Result:
    return CliRunner().invoke(cli, ["image", "verify", *map(str, arguments)], catch_exceptions=False)


def test_an_image_that_is_as_it_should_be(pushed: Reference) -> None:
    found = verify(pushed)
    assert found.exit_code == 0, found.output
    assert "all as they should be" in found.stdout
    assert " chunks" in found.stdout


def test_a_disk_of_this_machine(pushed: Reference, disk: Path) -> None:
    found = verify(pushed, disk)
    assert (found.exit_code, found.stdout) == (0, f"{disk} is {pushed}\n"), found.output
    with disk.open("r+b") as file:
        file.seek(PLACE)
        (old,) = file.read(1)
        file.seek(PLACE)
        file.write(bytes([old ^ 1]))
    found = verify(pushed, disk)
    assert found.exit_code == 1
    assert f"it differs from the disk of {pushed} at byte {PLACE}" in found.output
