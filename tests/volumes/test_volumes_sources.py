"""Every source becomes a claim with a raw disk.img, whole, and nothing else is left (G1)."""

from __future__ import annotations

import os

import pytest

from guest.manifests import secret
from guest.servers.nbdkit import Nbdkit
from guest.servers.nginx import Nginx
from guest.servers.rados_gateway import RadosGateway
from ingot.api.quantity import whole as bytes_of
from ingot.api.resources import CONFIG_MAPS, SECRETS
from ingot.control.volumes.gate import TRANSFERS
from ingot.kube.client import Client
from ingot.kube.objects import condition, is_true
from volumes.conftest import PASSWORD, USER, started
from volumes.shelf import Shelf, volume
from volumes.wares import MIB, SIZE, Wares

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has loop devices")


async def test_files_of_a_web_server_in_any_wrapping_become_the_same_disk(
    shelf: Shelf, web: Nginx, wares: Wares
) -> None:
    names = ("disk.raw", "disk.qcow2", "disk.raw.gz")
    await shelf.make(*(volume(name, {"http": {"url": f"{web.http}/{name}"}}, "32Mi") for name in names))
    for name in names:
        found = await shelf.filled(name)
        assert found["status"]["progress"] == "100.0%"
        assert found["status"]["claimName"] == name
        assert [is_true(found, kind) for kind in ("Ready", "Bound", "Running")] == [True, True, False]
        assert await shelf.content(name, SIZE) == wares.disk
        disk = (await shelf.place(name)) / "disk.img"
        assert SIZE < disk.stat().st_size <= 32 * MIB, "it is grown to what was asked for"
        assert disk.stat().st_blocks * 512 < SIZE // 2, "holes stay holes"
    await shelf.idle()


async def test_a_file_behind_tls_and_a_password_with_its_checksum(
    shelf: Shelf, client: Client, web: Nginx, wares: Wares
) -> None:
    """G1: secretRef, certConfigMap, checksum."""
    keys = {"accessKeyId": USER, "secretKey": PASSWORD}
    await client.create(SECRETS, secret(shelf.namespace, "reader", keys))
    authority = {"metadata": {"name": "ca", "namespace": shelf.namespace}}
    await client.create(CONFIG_MAPS, {**authority, "data": {"ca.pem": web.certificates.authority}})
    url = f"{web.https}/private/disk.raw"
    source = {"url": url, "secretRef": "reader", "certConfigMap": "ca", "checksum": wares.digest}
    await shelf.make(volume("guarded", {"http": source}))
    await shelf.filled("guarded")
    assert await shelf.content("guarded", SIZE) == wares.disk


async def test_volumes_whose_secret_is_missing_say_so_and_keep_nobody_waiting(
    shelf: Shelf, client: Client, web: Nginx, wares: Wares
) -> None:
    """With a size and without one; they go on when it is there."""
    source = {"http": {"url": f"{web.http}/disk.qcow2", "secretRef": "late"}}
    names = [f"stuck-{number}" for number in range(TRANSFERS)]
    await shelf.make(*(volume(name, source, "32Mi" if name == names[0] else "") for name in names))
    await shelf.make(volume("healthy", {"http": {"url": f"{web.http}/disk.raw"}}))
    why = f"Secret {shelf.namespace}/late is not there"
    for name in names:
        await shelf.until(name, lambda each: why in (condition(each, "Running") or {}).get("message", ""))
    await shelf.filled("healthy")
    await client.create(SECRETS, secret(shelf.namespace, "late", {"accessKeyId": USER, "secretKey": PASSWORD}))
    for name in names:
        await shelf.filled(name)
        assert await shelf.content(name, SIZE) == wares.disk


async def test_without_a_size_a_volume_is_as_large_as_its_image(
    shelf: Shelf, web: Nginx, image: str, wares: Wares
) -> None:
    await shelf.make(
        volume("of-image", {"registry": {"url": image}}),
        volume("of-qcow2", {"http": {"url": f"{web.http}/disk.qcow2"}}),
    )
    for name in ("of-image", "of-qcow2"):
        await shelf.filled(name)
        assert await shelf.content(name, SIZE + 1) == wares.disk
        capacity = bytes_of((await shelf.claim(name))["status"]["capacity"]["storage"])
        assert SIZE <= capacity < 2 * SIZE


async def test_an_object_of_s3_with_its_keys(shelf: Shelf, client: Client, wares: Wares) -> None:
    """G1: without a size, so that both pods have the keys."""
    for gateway in started(RadosGateway()):
        gateway.put("/disks")
        gateway.put("/disks/disk.qcow2", (wares.directory / "disk.qcow2").read_bytes())
        keys = {"accessKeyId": gateway.access, "secretKey": gateway.secret}
        await client.create(SECRETS, secret(shelf.namespace, "keys", keys))
        await shelf.make(volume("object", {"s3": {"url": f"{gateway.url}/disks/disk.qcow2", "secretRef": "keys"}}))
        await shelf.filled("object")
    assert await shelf.content("object", SIZE) == wares.disk


async def test_an_export_of_an_nbd_server(shelf: Shelf, nbd: Nbdkit, wares: Wares) -> None:
    await shelf.make(volume("exported", {"nbd": {"url": nbd.uri("disk.raw")}}, "32Mi"))
    await shelf.filled("exported")
    assert await shelf.content("exported", SIZE) == wares.disk


@needs_root
async def test_a_block_volume_has_the_disk_from_its_first_byte(shelf: Shelf, web: Nginx, wares: Wares) -> None:
    source = {"http": {"url": f"{web.http}/disk.qcow2"}}
    await shelf.make(volume("device", source, "32Mi", storage={"volumeMode": "Block"}))
    await shelf.filled("device")
    assert await shelf.content("device", SIZE) == wares.disk


async def test_an_image_of_any_size_becomes_a_disk_of_whole_blocks(shelf: Shelf, web: Nginx, wares: Wares) -> None:
    (wares.directory / "odd.raw").write_bytes(wares.disk[: MIB + 1])
    await shelf.make(volume("odd", {"http": {"url": f"{web.http}/odd.raw"}}))
    await shelf.filled("odd")
    assert await shelf.content("odd", 2 * MIB) == wares.disk[: MIB + 1].ljust(MIB + 4096, b"\0")
    assert bytes_of((await shelf.claim("odd"))["status"]["capacity"]["storage"]) == MIB + 4096


async def test_a_blank_disk_is_as_large_as_asked_for_and_takes_no_room(shelf: Shelf) -> None:
    await shelf.make(volume("blank", {"blank": {}}, "64Mi"), volume("full", {"blank": {}}, "8Mi", preallocation=True))
    await shelf.filled("blank")
    await shelf.filled("full")
    blank = ((await shelf.place("blank")) / "disk.img").stat()
    assert 32 * MIB < blank.st_size <= 64 * MIB
    assert blank.st_blocks == 0
    full = ((await shelf.place("full")) / "disk.img").stat()
    assert full.st_blocks * 512 >= full.st_size > 0


async def test_an_archive_is_unpacked(shelf: Shelf, web: Nginx) -> None:
    await shelf.make(volume("files", {"http": {"url": f"{web.http}/files.tar"}}, "8Mi", contentType="archive"))
    await shelf.filled("files")
    place = await shelf.place("files")
    assert (place / "one.txt").read_text() == "one\n"
    assert (place / "sub" / "two.txt").read_text() == "two\n"
    assert not (place / "disk.img").exists()
